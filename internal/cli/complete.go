// Completion of nodes, state keys, steps and ids.

package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = noFiles | cobra.ShellCompDirectiveNoSpace // for words that end in "="
)

// completeFlag sets how the values of a flag are completed.
func completeFlag(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // a flag that does not exist or has a completion already
	}
}

// completeWords completes a flag with fixed words.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, noFiles))
}

// completeNoFiles keeps the shell from offering files for flags that take none.
func completeNoFiles(cmd *cobra.Command) {
	files := []string{"FILE", "FOLDER", "PATH of", "@file", "folder"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && !slices.ContainsFunc(files, func(s string) bool { return strings.Contains(f.Usage, s) }) {
			completeWords(cmd, f.Name, nil)
		}
	})
}

// completeFlow completes the path of a graph file.
func completeFlow(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFiles completes paths.
var completeFiles = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// graphOf returns the graph that a command line names, or nil.
type graphOf func(cmd *cobra.Command, args []string) *spec.Graph

// flowNamed reads the graph file that the first argument names.
func flowNamed(_ *cobra.Command, args []string) *spec.Graph {
	if len(args) == 0 || args[0] == "-" {
		return nil
	}
	src, err := bounded.ReadFile(args[0], bounded.Text)
	if err != nil {
		return nil
	}
	g, _ := spec.Parse(args[0], src, spec.Options{}) // a file with mistakes has nodes too
	return g
}

// runNamed returns the graph of the run that the first argument names.
func (a *app) runNamed(cmd *cobra.Command, args []string) *spec.Graph {
	if len(args) == 0 || a.loadSettings(cmd, nil) != nil {
		return nil
	}
	if r, err := a.openRecorded(args[0]); err == nil {
		return recordedGraph(&r.record)
	}
	return nil
}

// nodeNames returns the nodes of a kind ("" for all), each with a suffix.
func nodeNames(g *spec.Graph, kind, end string) []string {
	var out []string
	for _, n := range g.Nodes {
		if kind == "" || n.Kind.Value == kind {
			out = append(out, n.ID.Value+end)
		}
	}
	return out
}

// completeNodes completes a flag with the nodes of a graph.
func completeNodes(cmd *cobra.Command, flag string, of graphOf, kind, end string) {
	completeFrom(cmd, flag, of, func(g *spec.Graph) []string { return nodeNames(g, kind, end) })
}

// completeKeys completes a flag that takes key=value.
func completeKeys(cmd *cobra.Command, flag string, of graphOf) {
	completeFrom(cmd, flag, of, func(g *spec.Graph) []string {
		var out []string
		for _, key := range g.State {
			out = append(out, key.Name.Value+"=")
		}
		return out
	})
}

func completeFrom(cmd *cobra.Command, flag string, of graphOf, words func(*spec.Graph) []string) {
	completeFlag(cmd, flag, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if g := of(cmd, args); g != nil {
			return words(g), noSpace
		}
		return nil, noFiles
	})
}

// completeFlowNodes completes the path of a graph file, then its nodes.
func completeFlowNodes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFlow(cmd, args, word)
	}
	if g := flowNamed(cmd, args); g != nil {
		return nodeNames(g, "", ""), noFiles
	}
	return nil, noFiles
}

// completeRunNodes completes a run, then its nodes.
func (a *app) completeRunNodes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		if g := a.runNamed(cmd, args); g != nil {
			return nodeNames(g, "", ""), noFiles
		}
	}
	return a.completeRun(cmd, args, word)
}

// storeToComplete opens the store for completion. It returns nil if it can't be read.
func (a *app) storeToComplete(cmd *cobra.Command) store.Store {
	if a.loadSettings(cmd, nil) != nil {
		return nil
	}
	s, _ := a.readStore()
	return s
}

// listRuns returns the latest runs.
func (a *app) listRuns(cmd *cobra.Command) (runs []store.RunSummary) {
	if s := a.storeToComplete(cmd); s != nil {
		runs, _ = s.List(store.RunFilter{Limit: 200}) // none on an error
	}
	return runs
}

// completeRun completes the id of a run.
func (a *app) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	var out []string
	for _, r := range a.listRuns(cmd) {
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Graph+", "+string(r.StandsAs())))
	}
	return out, noFiles
}

// completeFromRuns completes a flag with values of the stored runs, each once.
func (a *app) completeFromRuns(cmd *cobra.Command, flag string, of func(*store.RunSummary) string) {
	completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, r := range a.listRuns(cmd) {
			if word := of(&r); word != "" {
				out = append(out, word)
			}
		}
		slices.Sort(out)
		return slices.Compact(out), noFiles
	})
}

// completeRunStep completes the id of a run, then one of its steps.
func (a *app) completeRunStep(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return a.completeSteps(cmd, args, word)
	}
	return a.completeRun(cmd, args, word)
}

// completeSteps completes the steps of the run that the first argument names, each
// with its node.
func (a *app) completeSteps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if result := a.shownRun(cmd, args); result != nil {
		for i, node := range result.Path {
			out = append(out, cobra.CompletionWithDesc(strconv.Itoa(i+1), node))
		}
	}
	return out, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// completeAnswer completes a run, then its open questions.
func (a *app) completeAnswer(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeRun(cmd, args, word)
	}
	var out []string
	if result := a.shownRun(cmd, args); result != nil {
		for _, p := range result.Pending {
			out = append(out, cobra.CompletionWithDesc(p.Target()+"=", p.Prompt))
		}
	}
	return out, noSpace
}

// completeSession completes the id of a session.
func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	if s := a.storeToComplete(cmd); s != nil {
		sessions, _ := s.Sessions() // none on an error
		for i := range sessions {
			out = append(out, cobra.CompletionWithDesc(sessions[i].ID, "last run of "+sessions[i].Graph))
		}
	}
	return out, noFiles
}

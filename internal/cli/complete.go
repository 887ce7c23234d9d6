// Completion of arguments and of values of flags.

package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// candidates returns the words that complete an argument or the value of a flag.
type candidates func(cmd *cobra.Command, args []string) []string

// complete returns the candidates in order. The shell adds no space if one of them ends in "=".
func (of candidates) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words, directive := of(cmd, args), noFiles
	for _, word := range words {
		if name, _, _ := strings.Cut(word, "\t"); strings.HasSuffix(name, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	return words, directive
}

// completeByPosition completes each argument by candidates of its own.
func completeByPosition(at ...candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(at) {
			return nil, noFiles
		}
		return at[len(args)].complete(cmd, args, word)
	}
}

// fixedCandidates returns the same words anywhere.
func fixedCandidates(words ...string) candidates {
	return func(*cobra.Command, []string) []string { return words }
}

// completeFlag sets how the values of a flag are completed.
func completeFlag(cmd *cobra.Command, flag string, of candidates) {
	if err := cmd.RegisterFlagCompletionFunc(flag, of.complete); err != nil {
		panic(err) // a flag that does not exist or has a completion already
	}
}

// completeNoFiles keeps the shell from offering files for flags that take none.
func completeNoFiles(cmd *cobra.Command) {
	files := []string{"FILE", "FOLDER", "PATH of", "@file", "folder"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && !slices.ContainsFunc(files, func(s string) bool { return strings.Contains(f.Usage, s) }) {
			completeFlag(cmd, f.Name, fixedCandidates())
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

// parseNamedFlow reads the graph file that the first argument names.
func parseNamedFlow(_ *cobra.Command, args []string) *spec.Graph {
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

// findNamedRun finds the run that the first argument names. It returns nil if it can't be read.
func (a *app) findNamedRun(cmd *cobra.Command, args []string) *recorded {
	if len(args) == 0 || a.loadSettings(cmd, nil) != nil {
		return nil
	}
	r, err := a.openRecorded(args[0])
	if err != nil {
		return nil
	}
	return r
}

// parseNamedRun returns the graph of the run that the first argument names.
func (a *app) parseNamedRun(cmd *cobra.Command, args []string) *spec.Graph {
	if r := a.findNamedRun(cmd, args); r != nil {
		return parseRecordedGraph(&r.record)
	}
	return nil
}

// showNamedRun returns the run that the first argument names, or nil.
func (a *app) showNamedRun(cmd *cobra.Command, args []string) *runner.Result {
	r := a.findNamedRun(cmd, args)
	if r == nil {
		return nil
	}
	result, _ := r.show(-1, false, nil) // nil on an error
	return result
}

// listNodes returns the nodes of a kind ("" for all), each with a suffix.
func listNodes(g *spec.Graph, kind, end string) []string {
	var out []string
	for _, n := range g.Nodes {
		if kind == "" || n.Kind.Value == kind {
			out = append(out, n.ID.Value+end)
		}
	}
	return out
}

// nodeCandidates returns the nodes of a graph; see listNodes.
func nodeCandidates(of graphOf, kind, end string) candidates {
	return func(cmd *cobra.Command, args []string) []string {
		if g := of(cmd, args); g != nil {
			return listNodes(g, kind, end)
		}
		return nil
	}
}

// keyCandidates returns the state keys of a graph, for key=value.
func keyCandidates(of graphOf) candidates {
	return func(cmd *cobra.Command, args []string) (out []string) {
		if g := of(cmd, args); g != nil {
			for _, key := range g.State {
				out = append(out, key.Name.Value+"=")
			}
		}
		return out
	}
}

// completeFlowNodes completes the path of a graph file, then its nodes.
func completeFlowNodes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFlow(cmd, args, word)
	}
	return nodeCandidates(parseNamedFlow, "", "").complete(cmd, args, word)
}

// openStoreToComplete opens the store for completion. It returns nil if it can't be read.
func (a *app) openStoreToComplete(cmd *cobra.Command) store.Store {
	if a.loadSettings(cmd, nil) != nil {
		return nil
	}
	s, _ := a.readStore()
	return s
}

// collectFromRuns returns a word about each of the latest runs, each once. It skips "".
func (a *app) collectFromRuns(wordOf func(*store.RunSummary) string) candidates {
	return func(cmd *cobra.Command, _ []string) (out []string) {
		s := a.openStoreToComplete(cmd)
		if s == nil {
			return nil
		}
		runs, _ := s.List(store.RunFilter{Limit: 200}) // none on an error
		for i := range runs {
			if word := wordOf(&runs[i]); word != "" && !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
		return out
	}
}

// listRunIDs returns the ids of runs.
func (a *app) listRunIDs(cmd *cobra.Command, args []string) []string {
	return a.collectFromRuns(func(r *store.RunSummary) string {
		return cobra.CompletionWithDesc(r.ID, r.Graph+", "+string(r.StandsAs()))
	})(cmd, args)
}

// listSteps returns the steps of the run that the first argument names, each with its node.
func (a *app) listSteps(cmd *cobra.Command, args []string) (out []string) {
	if result := a.showNamedRun(cmd, args); result != nil {
		for i, node := range result.Path {
			out = append(out, cobra.CompletionWithDesc(strconv.Itoa(i+1), node))
		}
	}
	return out
}

// listQuestions returns the open questions of the run that the first argument names.
func (a *app) listQuestions(cmd *cobra.Command, args []string) (out []string) {
	if result := a.showNamedRun(cmd, args); result != nil {
		for _, p := range result.Pending {
			out = append(out, cobra.CompletionWithDesc(p.Target()+"=", p.Prompt))
		}
	}
	return out
}

// listSessionIDs returns the ids of sessions.
func (a *app) listSessionIDs(cmd *cobra.Command, _ []string) (out []string) {
	if s := a.openStoreToComplete(cmd); s != nil {
		sessions, _ := s.Sessions() // none on an error
		for i := range sessions {
			out = append(out, cobra.CompletionWithDesc(sessions[i].ID, "last run of "+sessions[i].Graph))
		}
	}
	return out
}

// Completion of what a graph names: its nodes and its state keys.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

// noSpace is for words that a value follows.
const noSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace

// graphOf finds the graph that a command line is about; nil: none.
type graphOf func(cmd *cobra.Command, args []string) *spec.Graph

// flowNamed is the graph in the file that the first argument names.
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

// runNamed is the graph of the run that the first argument names.
func (a *app) runNamed(cmd *cobra.Command, args []string) *spec.Graph {
	if len(args) == 0 || a.loadSettings(cmd, nil) != nil {
		return nil
	}
	s, err := a.readStore()
	if err != nil {
		return nil
	}
	record, err := a.findRun(s, args[0])
	if err != nil {
		return nil
	}
	return recordedGraph(&record)
}

// completeDrive completes the flags of driveFlags that name nodes.
func completeDrive(cmd *cobra.Command, of graphOf) {
	completeFrom(cmd, "pause-before", of, func(g *spec.Graph) []string { return nodeNames(g, "", "") })
	completeFrom(cmd, "pause-after", of, func(g *spec.Graph) []string { return nodeNames(g, "", "") })
	completeFrom(cmd, "answer", of, func(g *spec.Graph) []string { return nodeNames(g, "human", "=") })
}

// completeKeys completes a flag that takes key=value.
func completeKeys(cmd *cobra.Command, flag string, of graphOf) {
	completeFrom(cmd, flag, of, func(g *spec.Graph) []string {
		out := make([]string, len(g.State))
		for i, key := range g.State {
			out[i] = key.Name.Value + "="
		}
		return out
	})
}

func completeFrom(cmd *cobra.Command, flag string, of graphOf, words func(*spec.Graph) []string) {
	// The only error is a flag that does not exist or has a completion already.
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		g := of(cmd, args)
		if g == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(g), noSpace
	}); err != nil {
		panic(err) // a mistake in this package, seen by every test
	}
}

// completeFlowNodes completes the path of a graph file, then its nodes.
func completeFlowNodes(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFlow(cmd, args, toComplete)
	}
	g := flowNamed(cmd, args)
	if g == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nodeNames(g, "", ""), cobra.ShellCompDirectiveNoFileComp
}

// nodeNames are the nodes of a kind, of every kind when it is "", each with an end.
func nodeNames(g *spec.Graph, kind, end string) []string {
	var out []string
	for _, n := range g.Nodes {
		if kind == "" || n.Kind.Value == kind {
			out = append(out, n.ID.Value+end)
		}
	}
	return out
}

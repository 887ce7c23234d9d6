// Completion of what runs have: their steps, the names of their graphs.

package cli

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/runner/store"
)

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
	const plain = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) == 0 || a.loadSettings(cmd, nil) != nil {
		return nil, plain
	}
	r, err := a.lookAt(args[0])
	if err != nil {
		return nil, plain
	}
	result, err := r.show(-1, false, nil)
	if err != nil {
		return nil, plain
	}
	out := make([]string, len(result.Path))
	for i, node := range result.Path {
		out[i] = cobra.CompletionWithDesc(strconv.Itoa(i+1), node)
	}
	return out, plain
}

// completeFromRuns completes a flag with what the runs that are kept have of
// something, each once.
func (a *app) completeFromRuns(cmd *cobra.Command, flag string, of func(*store.RunSummary) string) {
	completeWith(cmd, flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		const plain = cobra.ShellCompDirectiveNoFileComp
		runs := a.listRuns(cmd)
		var out []string
		for i := range runs {
			if word := of(&runs[i]); word != "" {
				out = append(out, word)
			}
		}
		slices.Sort(out)
		return slices.Compact(out), plain
	})
}

// completeWith completes a flag with a function.
func completeWith(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	// The only error is a flag that does not exist or has a completion already.
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // a mistake in this package, seen by every test
	}
}

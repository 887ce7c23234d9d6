// The why command: explain the edges that each step took.

package cli

import (
	"fmt"
	"strconv"

	"github.com/graphrun/graphrun/eval"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
)

func newWhyCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
		Use:   "why RUN [STEP]",
		Short: "Explain why a run went where it went",
		Long: `why explains, for one step of a run or for all, which edges the step could have taken, in
the order of the file: which fired, and why the others did not. Conditions appear with
the values that they read, each part of and, or and not on its own:
  confidence >= 0.8 → 0.62 >= 0.8 → false
A part is not evaluated if an earlier one decided. In a stuck run no edge of the last step
fired. why also works while the run is active. Without a step it includes the steps of
subgraphs, which have numbers of their own: outer/inner, and outer[2]/inner for the third
element of an each.`,
		Example:           "  graphrun why nightly\n  graphrun why nightly 4 -o json",
		Args:              takes(1, 2, "the id of a run (last: the latest one) and perhaps a step"),
		ValidArgsFunction: byPosition(a.runIDs, a.stepsOfRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			step := 0
			if len(args) == 2 {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return usagef("step %q: must be a number from 1", args[1])
				}
				step = n
			}
			return a.why(cmd, args[0], step)
		},
	})
}

func (a *app) why(cmd *cobra.Command, id string, step int) error {
	r, err := a.openRecorded(id)
	if err != nil {
		return err
	}
	decisions, result, err := inspect.ListDecisions(r.runner, r.record.ID, step)
	if err != nil {
		return r.unreadable(err)
	}
	if len(decisions) == 0 && step > len(result.Path) {
		return usagef("step %d: run %q has taken %s", step, r.record.ID, eval.Count(len(result.Path), "step"))
	}
	return a.print(cmd, decisions, func() error {
		c := a.stdoutColors()
		var out []string
		for i := range decisions {
			out = append(out, runview.FormatDecision(&decisions[i], c)...)
		}
		if step == 0 {
			out = append(out, runview.FormatFinally(result, c)...)
		}
		if len(decisions) == 0 {
			fmt.Fprintln(a.Stderr, "nothing was decided yet: "+runview.FormatHeadline(result))
		}
		return a.printLines(out)
	})
}

// The bound command: the fewest and the most steps and model calls of a run.

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

type boundFlags struct {
	maxSteps int
	maxCalls int
	maxUSD   float64
}

func newBoundCommand(a *app) *cobra.Command {
	var f boundFlags
	cmd := &cobra.Command{
		Use:   "bound FLOW",
		Short: "Bound the steps, model calls, tokens and cost of a run before it runs",
		Long: `bound prints the fewest steps, model calls, tokens and dollars with which a run can
complete, and the most that any run can take. It follows every path through the graph
and runs nothing.

It decides guards over visits, steps and numbers in the state as far as the writes of
the nodes allow. An input may be any value of its schema, so a loop that counts up is
bounded only if the schema has a minimum or a node sets the number first. Any other
guard may go either way. Retries count as model calls. If only a limit bounds a value,
bound names the limit; if nothing does, it says what would. It also says what bounds
each loop.

The bounds always hold. For steps and model calls, bound searches for runs that reach
them, with made-up results, and prints those that it finds: with one for each, the
bounds are exact.

Exit codes: 0, 1 when a bound is above one of the --max flags, 2 wrong usage, 3 invalid file.`,
		Example: `  graphrun bound flow.yaml
  graphrun bound flow.yaml --max-llm-calls 20 --max-usd 0.50`,
		Args:              oneFlow,
		ValidArgsFunction: completeFlow,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.bound(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	withOutput(cmd)
	flags.IntVar(&f.maxSteps, "max-steps", 0, "fail if a run can take more steps; 0: no limit")
	flags.IntVar(&f.maxCalls, "max-llm-calls", 0, "fail if a run can make more model calls; 0: no limit")
	flags.Float64Var(&f.maxUSD, "max-usd", 0, "fail if a run can cost more US dollars; 0: no limit")
	return cmd
}

func (a *app) bound(cmd *cobra.Command, f *boundFlags, path string) error {
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	b, ok := bound.Of(g, bound.Options{Load: spec.Beside(path), Price: inspect.BoundCost})
	if !ok {
		return usagef("%s: no run of this graph can complete, so there is nothing to bound", path)
	}
	r := inspect.NewBound(g, b, lint.Loops(g, lint.Options{Load: spec.Beside(path)}), b.Attain())
	for _, c := range []struct {
		flag string
		most float64
		have float64
	}{
		{"--max-steps", float64(f.maxSteps), b.Steps.Max},
		{"--max-llm-calls", float64(f.maxCalls), b.LLMCalls.Max},
		{"--max-usd", f.maxUSD, b.CostUSD.Max},
	} {
		if c.most > 0 && c.have > c.most {
			r.Exceeded = append(r.Exceeded, fmt.Sprintf("%s %s: a run can take %s", c.flag, runview.FormatNumber(c.most), runview.FormatNumber(c.have)))
		}
	}
	if err := a.printWhole(cmd, r, runview.FormatBound(&r)); err != nil || len(r.Exceeded) == 0 {
		return err
	}
	for _, line := range r.Exceeded {
		a.note("above " + line)
	}
	return silent(exitFailed)
}

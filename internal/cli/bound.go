// The bound command: how many steps and model calls a run takes at least and
// at most.

package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
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
	outputFlag(cmd)
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
	b, ok := lint.Bound(g, lint.Options{Load: spec.Beside(path), Price: inspect.Dearest})
	if !ok {
		return usagef("%s: no run of this graph can complete, so there is nothing to bound", path)
	}
	r := inspect.NewBound(g, b, b.Attain())
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
			r.Exceeded = append(r.Exceeded, fmt.Sprintf("%s %s: a run can take %s", c.flag, numberText(c.most), numberText(c.have)))
		}
	}
	if err := a.printWhole(cmd, r, boundText(&r)); err != nil || len(r.Exceeded) == 0 {
		return err
	}
	for _, line := range r.Exceeded {
		a.note("above " + line)
	}
	return silent(exitFailed)
}

func numberText(n float64) string {
	if math.IsInf(n, 1) {
		return "any number"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// boundText shows the bounds as a table, then the runs that reach them.
func boundText(r *inspect.Bound) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tat least\tat most\t\n")
	for _, row := range []struct {
		name string
		r    *inspect.Range
	}{{"steps", &r.Steps}, {"model calls", &r.LLMCalls}, {"tokens", &r.Tokens}, {"cost (USD)", &r.CostUSD}} {
		most, limit := "unbounded", row.r.Why
		if row.r.Max != nil {
			most = numberText(*row.r.Max)
		}
		if row.r.Limit != nil {
			limit = "by " + *row.r.Limit
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, numberText(row.r.Min), most, limit)
	}
	_ = w.Flush() // a builder takes all
	for _, run := range []struct {
		what string
		path []string
	}{
		{"fewest steps", r.Steps.MinPath},
		{"most steps", r.Steps.MaxPath},
		{"fewest model calls", r.LLMCalls.MinPath},
		{"most model calls", r.LLMCalls.MaxPath},
	} {
		if len(run.path) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", run.what, pathText(run.path))
		}
	}
	for _, l := range r.Loops {
		b.WriteString(loopText(l) + "\n")
	}
	if r.Steps.Max != nil && r.Steps.Min > *r.Steps.Max {
		fmt.Fprintf(&b, "no run completes: it takes at least %s, and %s allows %s\n", terminal.Count(int(r.Steps.Min), "step"), *r.Steps.Limit, numberText(*r.Steps.Max))
	}
	if wide := wideText(r); wide != "" {
		b.WriteString(wide + "\n")
	}
	return b.String()
}

// wideText names the bounds that no run was found for; "" when there is nothing to say.
func wideText(r *inspect.Bound) string {
	var names []string
	unbounded := false
	for _, row := range []struct {
		name string
		r    *inspect.Range
	}{{"steps", &r.Steps}, {"model calls", &r.LLMCalls}} {
		if row.r.Max != nil && *row.r.Max == 0 {
			continue
		}
		if row.r.MinPath == nil {
			names = append(names, "the fewest "+row.name)
		}
		unbounded = unbounded || row.r.Max == nil
		if row.r.MaxPath == nil && row.r.Max != nil {
			names = append(names, "the most "+row.name)
		}
	}
	switch {
	case len(names) > 0:
		return "no run was found with " + strings.Join(names, ", ") + ": what is said of them holds, but may be wide"
	case !r.Exact && !unbounded:
		return "the graph has too many ways to follow each: the bounds hold, but may be wide"
	}
	return ""
}

// loopText says what bounds a loop.
func loopText(l inspect.Loop) string {
	ends := l.BoundedBy
	if l.Endless != nil {
		ends = append(slices.Clip(ends), "nothing but limits.max_steps on "+pathText(l.Endless))
	}
	if len(l.Undecided) > 0 {
		ends = append(slices.Clip(ends), strings.Join(l.Undecided, "; ")+", if that comes about")
	}
	if len(ends) == 0 { // a goto that may name any node
		ends = []string{"nothing that the graph shows but limits.max_steps"}
	}
	return "loop of " + strings.Join(l.Nodes, ", ") + ": bounded by " + strings.Join(ends, "; ")
}

// pathText is a path in one line; the middle of a long one is left out.
func pathText(path []string) string {
	const ends = 10
	if n := len(path); n > 2*ends+2 {
		return strings.Join(path[:ends], " → ") + fmt.Sprintf(" → … %d more … → ", n-2*ends) + strings.Join(path[n-ends:], " → ")
	}
	return strings.Join(path, " → ")
}

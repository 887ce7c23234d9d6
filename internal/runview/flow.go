// Bounds and test results of flows as text.

package runview

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/lint"
)

// FormatNumber formats a number of steps, calls, tokens or dollars.
func FormatNumber(n float64) string {
	if math.IsInf(n, 1) {
		return "any number"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// FormatBound formats the bounds as a table, then the paths that attain them.
func FormatBound(r *inspect.Bound) string {
	var b strings.Builder
	ranges := []struct {
		name string
		*inspect.Range
	}{{"steps", &r.Steps}, {"model calls", &r.LLMCalls}, {"tokens", &r.Tokens}, {"cost (USD)", &r.CostUSD}}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tat least\tat most\t\n")
	for _, row := range ranges {
		most, limit := "unbounded", row.Why
		if row.Max != nil {
			most = FormatNumber(*row.Max)
		}
		if row.Limit != nil {
			limit = "by " + *row.Limit
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, FormatNumber(row.Min), most, limit)
	}
	_ = w.Flush() // writing to a builder can't fail
	var loose []string
	isUnbounded := false
	for _, row := range ranges[:2] { // other ranges have no paths
		isUnbounded = isUnbounded || row.Max == nil
		isZero := row.Max != nil && *row.Max == 0
		for _, end := range []struct {
			name    string
			path    []string
			isKnown bool
		}{{"fewest", row.MinPath, !isZero}, {"most", row.MaxPath, row.Max != nil && !isZero}} {
			switch {
			case len(end.path) > 0:
				fmt.Fprintf(&b, "%s %s: %s\n", end.name, row.name, formatPath(end.path))
			case end.path == nil && end.isKnown:
				loose = append(loose, "the "+end.name+" "+row.name)
			}
		}
	}
	for _, l := range r.Loops {
		b.WriteString(describeLoop(l) + "\n")
	}
	if r.Steps.Max != nil && r.Steps.Min > *r.Steps.Max {
		fmt.Fprintf(&b, "no run completes: it takes at least %s, and %s allows %s\n", eval.Count(int(r.Steps.Min), "step"), *r.Steps.Limit, FormatNumber(*r.Steps.Max))
	}
	switch {
	case loose != nil:
		fmt.Fprintf(&b, "no run was found with %s: these bounds hold, but may be loose\n", strings.Join(loose, ", "))
	case !r.Exact && !isUnbounded:
		fmt.Fprintln(&b, "the graph has too many paths to follow all: the bounds hold, but may be loose")
	}
	return b.String()
}

func describeLoop(l lint.Loop) string {
	ends := l.BoundedBy
	if l.Endless != nil {
		ends = append(slices.Clip(ends), "nothing but limits.max_steps on "+formatPath(l.Endless))
	}
	if len(l.Undecided) > 0 {
		ends = append(slices.Clip(ends), strings.Join(l.Undecided, "; ")+", if that happens")
	}
	if len(ends) == 0 { // a goto that may name any node
		ends = []string{"only limits.max_steps, as far as the graph shows"}
	}
	return "loop of " + strings.Join(l.Nodes, ", ") + ": bounded by " + strings.Join(ends, "; ")
}

// formatPath formats a path in one line and omits the middle of a long one.
func formatPath(path []string) string {
	const ends = 10
	if n := len(path); n > 2*ends+2 {
		return strings.Join(path[:ends], " → ") + fmt.Sprintf(" → … %d more … → ", n-2*ends) + strings.Join(path[n-ends:], " → ")
	}
	return strings.Join(path, " → ")
}

// FormatTests formats test results: a line per file, failing cases in full, then the coverage of
// each flow. verbose shows every case and everything that was not reached.
func FormatTests(r *flowtest.Report, verbose bool, c terminal.Colors) string {
	var b strings.Builder
	for i := 0; i < len(r.Results); {
		j, failed := i, 0
		for j < len(r.Results) && r.Results[j].File == r.Results[i].File {
			if !r.Results[j].Passed {
				failed++
			}
			j++
		}
		head, tail := c.Good("ok  "), eval.Count(j-i, "case")
		if failed > 0 {
			head, tail = c.Bad("FAIL"), fmt.Sprintf("%d of %s failed", failed, tail)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", head, r.Results[i].File, c.Quiet(tail))
		for ; i < j; i++ {
			if result := &r.Results[i]; !result.Passed {
				b.WriteString("  " + strings.ReplaceAll(strings.TrimRight(result.Text(), "\n"), "\n", "\n  ") + "\n")
			} else if verbose {
				fmt.Fprintf(&b, "  ok    %s  %s\n", result.Case, c.Quiet(strings.Join(result.Path, " → ")))
			}
		}
	}
	for _, flow := range slices.Sorted(maps.Keys(r.Coverage)) {
		writeCoverage(&b, flow, r.Coverage[flow], verbose)
	}
	return b.String()
}

func writeCoverage(b *strings.Builder, flow string, c *flowtest.Coverage, all bool) {
	fmt.Fprintf(b, "%s: nodes %d/%d, edges %d/%d, conditions %d/%d, failures %d/%d, loops %d/%d\n", flow,
		c.Nodes.Covered, c.Nodes.Total, c.Edges.Covered, c.Edges.Total, c.Guards.Covered, c.Guards.Total,
		c.Failures.Covered, c.Failures.Total, c.Loops.Covered, c.Loops.Total)
	list := func(what string, names []string) {
		const most = 6
		if more := len(names) - most; more > 0 && !all {
			names = append(names[:most:most], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "  no case reaches %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("the nodes", c.Nodes.Missing)
	list("the edges", c.Edges.Missing)
	if !all {
		return
	}
	var conditions, loops []string
	for _, g := range c.Guards.Missing {
		conditions = append(conditions, fmt.Sprintf("%s %t", g.Edge, g.Value))
	}
	for _, l := range c.Loops.Missing {
		loops = append(loops, l.Edge+" "+map[string]string{"0": "never", "1": "once", "many": "again and again"}[l.Taken])
	}
	list("the conditions", conditions)
	list("the loops", loops)
}

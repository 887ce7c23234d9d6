// Bounds of runs as text.

package runview

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/inspect"
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
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tat least\tat most\t\n")
	for _, row := range listRanges(r) {
		most, limit := "unbounded", row.Why
		if row.Max != nil {
			most = FormatNumber(*row.Max)
		}
		if row.Limit != nil {
			limit = "by " + *row.Limit
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, FormatNumber(row.Min), most, limit)
	}
	_ = w.Flush()                           // writing to a builder can't fail
	for _, row := range listRanges(r)[:2] { // other ranges have no paths
		for i, path := range [][]string{row.MinPath, row.MaxPath} {
			if len(path) > 0 {
				fmt.Fprintf(&b, "%s %s: %s\n", []string{"fewest", "most"}[i], row.name, formatPath(path))
			}
		}
	}
	for _, l := range r.Loops {
		b.WriteString(describeLoop(l) + "\n")
	}
	if r.Steps.Max != nil && r.Steps.Min > *r.Steps.Max {
		fmt.Fprintf(&b, "no run completes: it takes at least %s, and %s allows %s\n", eval.Count(int(r.Steps.Min), "step"), *r.Steps.Limit, FormatNumber(*r.Steps.Max))
	}
	if wide := describeLooseBounds(r); wide != "" {
		b.WriteString(wide + "\n")
	}
	return b.String()
}

// namedRange is the range of a quantity.
type namedRange struct {
	name string
	*inspect.Range
}

func listRanges(r *inspect.Bound) []namedRange {
	return []namedRange{{"steps", &r.Steps}, {"model calls", &r.LLMCalls}, {"tokens", &r.Tokens}, {"cost (USD)", &r.CostUSD}}
}

// describeLooseBounds names the bounds that no known run attains, or returns "".
func describeLooseBounds(r *inspect.Bound) string {
	var names []string
	unbounded := false
	for _, row := range listRanges(r)[:2] {
		if row.Max != nil && *row.Max == 0 {
			continue
		}
		if row.MinPath == nil {
			names = append(names, "the fewest "+row.name)
		}
		unbounded = unbounded || row.Max == nil
		if row.MaxPath == nil && row.Max != nil {
			names = append(names, "the most "+row.name)
		}
	}
	switch {
	case len(names) > 0:
		return "no run was found with " + strings.Join(names, ", ") + ": these bounds hold, but may be loose"
	case !r.Exact && !unbounded:
		return "the graph has too many paths to follow all: the bounds hold, but may be loose"
	}
	return ""
}

// describeLoop describes the bounds of a loop.
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

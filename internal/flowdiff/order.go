// The order of what stands in a list: which condition is tried first, whose writes
// come first.

package flowdiff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// paired is an edge of both versions.
type paired struct{ was, is *spec.Edge }

// orders compares the order of the edges that are in both versions, node by node: of
// those with a condition the first that holds fires; of the others, which are branches,
// the writes to some keys are kept in their order.
func (c *comparison) orders(pairs []paired) {
	leaving := map[string][]paired{}
	for _, p := range pairs {
		if from := p.is.From.Value; from == p.was.From.Value {
			leaving[from] = append(leaving[from], p)
		}
	}
	for _, n := range c.after.Graph.Nodes {
		var conditions, branches []paired
		sorted := true // by priorities that are the same
		for _, p := range leaving[n.ID.Value] {
			switch {
			case p.was.Condition != p.is.Condition:
			case p.is.When.IsSet():
				conditions = append(conditions, p)
				sorted = sorted && p.was.Priority == p.is.Priority
			case p.is.Condition == "on_success" || p.is.Condition == "always":
				branches = append(branches, p)
			}
		}
		if moved, ok := reordered(conditions); ok && sorted {
			c.add("edge", "changed", edgeName(moved.is), "its condition is tried earlier: the first that holds fires", false, c.after.lineOf(moved.is.Span))
		}
		keys := ordered(c.after.Graph)
		if moved, ok := reordered(branches); ok && len(keys) > 0 {
			c.add("edge", "changed", edgeName(moved.is), "its branch comes earlier: "+strings.Join(keys, ", ")+" keeps the order of what branches write", false, c.after.lineOf(moved.is.Span))
		}
	}
}

// reordered is the first edge that comes before one behind which it stood.
func reordered(pairs []paired) (moved paired, ok bool) {
	place := func(e *spec.Edge) [2]int { return [2]int{-e.Priority, e.Index} }
	before := slices.SortedFunc(slices.Values(pairs), func(a, b paired) int {
		x, y := place(a.was), place(b.was)
		return cmp.Or(x[0]-y[0], x[1]-y[1])
	})
	after := slices.SortedFunc(slices.Values(pairs), func(a, b paired) int {
		x, y := place(a.is), place(b.is)
		return cmp.Or(x[0]-y[0], x[1]-y[1])
	})
	for i := range before {
		if before[i] != after[i] {
			return after[i], true
		}
	}
	return paired{}, false
}

// ordered are the state keys that keep the order of what is written to them.
func ordered(g *spec.Graph) []string {
	var out []string
	for _, k := range g.State {
		if !slices.Contains([]string{"", "replace", "sum", "min", "max"}, k.Reducer.Value) {
			out = append(out, k.Name.Value)
		}
	}
	return out
}

// assignments compares the order of what a set node writes: later ones see earlier ones.
func (c *comparison) assignments(old, now *spec.Node) {
	names := func(n *spec.Node, other *spec.Node) []string {
		set, in := n.Field("set"), other.Field("set")
		if set == nil || in == nil {
			return nil
		}
		both := map[string]bool{}
		for i := range in.Fields {
			both[in.Fields[i].Key.Value] = true
		}
		var out []string
		for i := range set.Fields {
			if name := set.Fields[i].Key.Value; both[name] {
				out = append(out, name)
			}
		}
		return out
	}
	a, b := names(old, now), names(now, old)
	if !slices.Equal(a, b) {
		c.add("node", "changed", now.ID.Value, "set writes "+strings.Join(b, ", ")+" in this order, it was "+strings.Join(a, ", ")+": later ones see earlier ones", false, c.after.lineOf(now.ID.Span))
	}
}

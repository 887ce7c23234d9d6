// What bounds a cycle: visit limits, people, and conditions that count.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// freeArcs are the ways of the graph that nothing bounds. What it has cycles
// of can go round for ever.
func (f *facts) freeArcs(ignored int) *graphalg.Digraph {
	w := f.flow()
	counts := f.counters()
	var from, to []int
	for v, groups := range w.groups {
		n := f.graph.Nodes[v]
		if !w.cyclic[v] || n.MaxVisits > 0 && v != ignored || f.takesTime(n) {
			continue
		}
		c := &counting{f: f, v: v, keys: counts[w.scc[v]]}
		bounded := n.Goto.IsSet() && c.mentions(f.bound.Nodes[v].Goto)
		left := false // a counting condition has the cycle left before this group
		for i := range groups {
			g := &groups[i]
			stays := bounded && g.kind == byGoto || c.guard(g, true)
			for _, t := range g.targets {
				if f.inCycle(v, t) && !stays && (!left || g.kind == onFailure) {
					from, to = append(from, v), append(to, t)
				}
			}
			left = left || g.kind == byGuard && c.guard(g, false) &&
				!slices.ContainsFunc(g.targets, func(t int) bool { return f.inCycle(v, t) })
		}
	}
	return graphalg.New(len(f.graph.Nodes)+2, from, to)
}

// takesTime reports whether a cycle can't go round for ever through a node: a
// person is asked there, or time passes of which the run has only so much.
func (f *facts) takesTime(n *spec.Node) bool {
	return n.Kind.Value == "human" || n.Kind.Value == "wait" && f.graph.Limits.Timeout > 0
}

// inCycle reports whether t lies on the cycles of v.
func (f *facts) inCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.scc[t] == w.scc[v]
}

// counters lists for each component the state keys that its nodes count with:
// numbers that a node computes from their own value or that a program sets,
// lists that it changes, and keys whose reducer accumulates. They are sorted.
func (f *facts) counters() [][]int {
	w := f.flow()
	out := make([][]int, len(w.scc))
	for v, a := range f.access() {
		if !w.cyclic[v] {
			continue
		}
		for i := range a.writes {
			if f.isCounter(v, &a.writes[i]) {
				out[w.scc[v]] = append(out[w.scc[v]], a.writes[i].key)
			}
		}
	}
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	for f.deriveCounters(out) {
	}
	return out
}

// deriveCounters adds the keys that a node computes from counters; false when
// there are no more.
func (f *facts) deriveCounters(counters [][]int) (added bool) {
	w := f.flow()
	for v, a := range f.access() {
		if !w.cyclic[v] {
			continue
		}
		of := &counters[w.scc[v]]
		for i := range a.writes {
			value := a.writes[i].value
			at, known := slices.BinarySearch(*of, a.writes[i].key)
			if value == nil || known {
				continue
			}
			if slices.ContainsFunc(value.Reads(), func(r eval.Read) bool { return f.isAmong(r.Path[0], *of) }) {
				*of, added = slices.Insert(*of, at, a.writes[i].key), true
			}
		}
	}
	return added
}

func (f *facts) isCounter(v int, w *write) bool {
	key, n := f.graph.State[w.key], f.graph.Nodes[v]
	typ := eval.FromSchema(key.Schema)
	number := typ.String() == "integer" || typ.String() == "number"
	switch {
	case !replaces(key):
		return number || typ.IsList() || key.Reducer.Value == "append"
	case w.value != nil && readsKey(w.value, key.Name.Value):
		return true
	case typ.IsList():
		return !isModel(n)
	case !number:
		return false
	case isModel(n):
		return false
	case n.Kind.Value == "set":
		return w.value != nil && asksProgress(w.value)
	}
	if typ.String() == "integer" {
		return true
	}
	for _, u := range f.uses().ofNode(v) {
		if readsKey(u.program, key.Name.Value) {
			return true
		}
	}
	return false
}

// counting judges the conditions at a node by what its cycles count with.
type counting struct {
	f    *facts
	v    int
	keys []int
}

// mentions reports whether a program reads a counter.
func (c *counting) mentions(p *eval.Program) bool {
	return p != nil && slices.ContainsFunc(p.Reads(), func(r eval.Read) bool { return c.counter(r.Path) })
}

func (c *counting) counter(path []string) bool {
	if c.grows(path) {
		return true
	}
	return c.f.isAmong(path[0], c.keys)
}

// isAmong reports whether a name is one of the state keys of a sorted list.
func (f *facts) isAmong(name string, keys []int) bool {
	key, ok := f.keyOf[name]
	if !ok {
		return false
	}
	_, found := slices.BinarySearch(keys, key)
	return found
}

// grows reports whether a path is one of the run's own counters: the visits of a
// node that is not on the cycle stay what they are.
func (c *counting) grows(path []string) bool {
	switch path[0] {
	case "step", "visit":
		return true
	case "nodes":
		if len(path) < 3 || path[2] != "visits" {
			return false
		}
	case "visits", "history":
	default:
		return false
	}
	if len(path) < 2 {
		return true
	}
	n := c.f.graph.Node(path[1])
	return n == nil || c.f.inCycle(c.v, n.Index)
}

// guard reports whether counting makes the condition of a group false in the
// end, when stay is set, or true.
func (c *counting) guard(g *group, stay bool) bool {
	for _, e := range g.edges {
		when := c.f.bound.Edges[e].When
		if when == nil || !c.mentions(when) {
			return false
		}
		if !c.ends(when.Tree(), !stay) {
			return false
		}
	}
	return len(g.edges) > 0
}

// ends reports whether counting brings a condition to the wanted value.
func (c *counting) ends(t *eval.Tree, want bool) bool {
	if t.Op == eval.TreeUnary && t.Name == "not" {
		return c.ends(t.Args[0], !want)
	}
	if t.Op != eval.TreeBinary {
		return c.reads(t)
	}
	switch t.Name {
	case "and", "or":
		left, right := c.ends(t.Args[0], want), c.ends(t.Args[1], want)
		if (t.Name == "and") == want {
			return left && right
		}
		return left || right
	case "<", "<=", ">", ">=":
		// The run's own counters only grow, so the direction matters.
		up := t.Name[0] == '>'
		for i := range 2 {
			if a := t.Args[i]; a.Op == eval.TreePath && c.grows(a.Path) && t.Args[1-i].Op == eval.TreeConst {
				return (up == (i == 0)) == want
			}
		}
	}
	return c.reads(t)
}

// reads reports whether a part reads a counter; of a part that can't be looked
// into that is assumed.
func (c *counting) reads(t *eval.Tree) bool {
	found := false
	t.Each(func(p *eval.Tree) {
		found = found || p.Op == eval.TreeOther || p.Op == eval.TreePath && c.counter(p.Path)
	})
	return found
}

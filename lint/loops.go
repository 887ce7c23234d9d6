// What bounds each loop of a graph.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Loop is a set of nodes that all lead to one another.
type Loop struct {
	// Nodes in the order of the file.
	Nodes []string `json:"nodes"`
	// BoundedBy lists in words the conditions, limits and people that surely bound it.
	BoundedBy []string `json:"bounded_by"`
	// Undecided lists conditions that bound the rest of it if they become false; empty when
	// BoundedBy is enough.
	Undecided []string `json:"undecided"`
	// Endless is a cycle that only limits.max_steps ends, or nil.
	Endless []string `json:"endless"`
}

// Loops returns the loops of a graph without errors that a run can reach, in the order of
// their first nodes.
func Loops(g *spec.Graph, opts Options) []Loop {
	bound, found := bind.Check(g, opts.Kinds, nil)
	f := newFacts(g, bound, opts)
	if found.HasErrors() || !f.WellFormed() {
		return nil
	}
	return f.loopList()
}

// loopList returns the loops that a run can reach, in the order of their first nodes.
func (f *facts) loopList() []Loop {
	w := f.flow()
	sure, likely := f.openCycles(-1, false), f.openCycles(-1, true)
	open := map[int]bool{} // components that are not sure to be bounded
	for _, a := range sure.arcs {
		open[w.SCC[a.from]] = true
	}
	loopOf := make([]int, len(w.SCC)) // by component: the index of its loop, and one
	var out []Loop
	for v, n := range f.graph.Nodes {
		if !w.Reached[v] || !w.Cyclic[v] {
			continue
		}
		at := &loopOf[w.SCC[v]]
		if *at == 0 {
			out = append(out, Loop{BoundedBy: []string{}, Undecided: []string{}})
			*at = len(out)
		}
		l := &out[*at-1]
		l.Nodes = append(l.Nodes, n.ID.Value)
		l.BoundedBy = append(l.BoundedBy, sure.why[v]...)
		if open[w.SCC[v]] {
			l.Undecided = append(l.Undecided, likely.why[v]...)
		}
	}
	for _, c := range f.freeCycles() {
		l := &out[loopOf[w.SCC[c.path[0]]]-1]
		switch {
		case !c.isEndless:
			l.Undecided = append(l.Undecided, "what its nodes write and its conditions ask")
		case l.Endless == nil:
			for _, u := range c.path {
				l.Endless = append(l.Endless, f.Name(u))
			}
		}
	}
	for i := range out {
		if most := f.graph.Limits.MaxVisits; most > 0 {
			out[i].BoundedBy = append(out[i].BoundedBy, fmt.Sprintf("limits.max_visits %d", most))
		}
		l := &out[i]
		if other := distinct(l.Undecided, l.BoundedBy...); len(other) > 0 || len(l.Undecided) == 0 {
			l.BoundedBy, l.Undecided = distinct(l.BoundedBy), other
		} else { // the same condition surely bounds some arcs, and not others
			l.BoundedBy, l.Undecided = distinct(l.BoundedBy, l.Undecided...), distinct(l.Undecided)
		}
	}
	return out
}

// distinct returns a list without repeated texts, and without some others.
func distinct(list []string, but ...string) []string {
	out := []string{}
	for _, s := range list {
		if !slices.Contains(out, s) && !slices.Contains(but, s) {
			out = append(out, s)
		}
	}
	return out
}

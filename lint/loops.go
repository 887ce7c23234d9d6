// What bounds each loop of a graph.

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Loop is nodes that can all lead to one another again and again.
type Loop struct {
	// Nodes in the order of the file.
	Nodes []string
	// BoundedBy are the conditions, limits and people that bound it, in words, in the
	// order of the nodes.
	BoundedBy []string
	// Endless is a cycle in it that only limits.max_steps ends, from a node back to
	// the same; nil when there is none.
	Endless []string
}

// loopList are those that a run can come to, in the order of their first nodes.
func (f *facts) loopList() []Loop {
	w := f.flow()
	counts := f.counters()
	place := make([]int, len(w.scc)) // by component: the place of its loop, and one
	var out []Loop
	for v, n := range f.graph.Nodes {
		if !w.reached[v] || !w.cyclic[v] {
			continue
		}
		at := &place[w.scc[v]]
		if *at == 0 {
			out = append(out, Loop{BoundedBy: []string{}})
			*at = len(out)
		}
		l := &out[*at-1]
		l.Nodes = append(l.Nodes, n.ID.Value)
		l.BoundedBy = append(l.BoundedBy, f.endings(&counting{f: f, v: v, keys: counts[w.scc[v]]})...)
	}
	for _, c := range f.freeCycles() {
		l := &out[place[w.scc[c.first]]-1]
		switch {
		case c.endless == nil:
			l.BoundedBy = append(l.BoundedBy, "what its nodes write and its conditions ask")
		case l.Endless == nil:
			for _, u := range c.endless {
				l.Endless = append(l.Endless, f.name(u))
			}
		}
	}
	for i := range out {
		if most := f.graph.Limits.MaxVisits; most > 0 {
			out[i].BoundedBy = append(out[i].BoundedBy, fmt.Sprintf("limits.max_visits %d", most))
		}
		out[i].BoundedBy = distinct(out[i].BoundedBy)
	}
	return out
}

// endings are what lets a loop through a node go round only so often.
func (f *facts) endings(c *counting) []string {
	v, n := c.v, f.graph.Nodes[c.v]
	var out []string
	if n.MaxVisits > 0 {
		out = append(out, fmt.Sprintf("max_visits %d of %s", n.MaxVisits, n.ID.Value))
	}
	if f.takesTime(n) {
		what := "the person asked at "
		if n.Kind.Value == "wait" {
			what = "limits.timeout, by the time that passes at "
		}
		out = append(out, what+n.ID.Value)
	}
	if n.Goto.IsSet() && c.mentions(f.bound.Nodes[v].Goto) {
		out = append(out, "goto of "+n.ID.Value+": "+strings.TrimSpace(n.Goto.Value))
	}
	for i := range f.flow().groups[v] {
		g := &f.flow().groups[v][i]
		stays := slices.ContainsFunc(g.targets, func(t int) bool { return f.inCycle(v, t) })
		if stays && c.guard(g, true) || !stays && g.kind == byGuard && c.guard(g, false) {
			out = append(out, strings.TrimSpace(f.graph.Edges[g.edges[0]].When.Value))
		}
	}
	return out
}

// distinct leaves out what was there before.
func distinct(list []string) []string {
	out := list[:0]
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

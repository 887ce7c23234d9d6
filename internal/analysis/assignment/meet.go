// Branches that wait for each other.

package assignment

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// meeting says how branches arrive at a vertex.
type meeting struct {
	arcs []arc
	// groups are the alternatives of the fan-out from which all arcs come: in each, the
	// branches all arrive. Empty if the arcs come from no fan-out, or may not all arrive.
	groups [][]*meeting
}

// gathers reports whether v runs once for all branches that meet at it.
func (a *Analysis) gathers(v int) bool {
	switch {
	case v > a.flow.End || a.First && v == a.flow.End:
		return false
	case a.waits(v) || v < a.flow.End && a.flow.Joins[v]:
		return true
	}
	return a.last && a.flow.Source.Nodes[v].Join == nil
}

// waits reports whether v is END, or a join that runs when the last branch has arrived.
func (a *Analysis) waits(v int) bool {
	if v == a.flow.End {
		return true
	}
	join := a.flow.Source.Nodes[v].Join
	return join != nil && (join.Wait == "all" || join.Wait == "N" && join.Count == a.startedOnce())
}

// startedOnce returns the number of branches where one node starts some, once; 0 for more.
func (a *Analysis) startedOnce() int {
	started := 0
	for v, g := range a.flow.AllGroups() {
		if len(g.Targets) > 1 || g.Subset {
			if started > 0 || g.Subset || a.flow.Cyclic[v] {
				return 0
			}
			started = len(g.Targets)
		}
	}
	return started
}

// meet returns the things that are open in all branches that surely arrive.
func (a *Analysis) meet(m *meeting, v int) bitset {
	if len(m.groups) == 0 {
		return a.anyOf(m.arcs, v)
	}
	out := make(bitset, a.words)
	for _, branches := range m.groups {
		all := a.meet(branches[0], v)
		for _, b := range branches[1:] {
			for i, word := range a.meet(b, v) {
				all[i] &= word
			}
		}
		for i := range out {
			out[i] |= all[i]
		}
	}
	return out
}

// meetingAt returns how branches arrive at v, computed once.
func (a *Analysis) meetingAt(v int) *meeting {
	key := [2]int{v, 0}
	if a.last {
		key[1] = 1
	}
	if a.met[key] == nil {
		a.met[key] = a.split(a.into[v], v)
	}
	return a.met[key]
}

// split divides arcs to v by the branches of the fan-out from which they come.
func (a *Analysis) split(arcs []arc, v int) *meeting {
	m := &meeting{arcs: arcs}
	if len(arcs) < 2 {
		return m
	}
	fork, byNode := arcs[0].from, map[int]arc{}
	for _, e := range arcs {
		fork, byNode[e.from] = a.flow.Dominators().Common(fork, e.from), e
	}
	if !controlflow.Fans(a.flow.Groups[fork]) || controlflow.FailurePolicy(a.flow.Source, fork) != "fail_all" {
		return m
	}
	for i := range a.flow.Groups[fork] {
		g := &a.flow.Groups[fork][i]
		if a.dead(g) {
			continue
		}
		var sure []*meeting
		branches := a.branches(g, fork, v, byNode)
		for _, b := range branches {
			if b.sure && len(b.arcs) > 0 && len(b.arcs) < len(arcs) {
				sure = append(sure, a.split(b.arcs, v))
			}
		}
		switch {
		case !slices.ContainsFunc(branches, func(b *branch) bool { return len(b.arcs) > 0 }): // leads elsewhere
		case len(sure) == 0 || g.Subset || len(g.Targets) > 1 && g.Join != v && !a.last && !a.waits(v) || a.work > maxWork:
			return &meeting{arcs: arcs}
		default:
			m.groups = append(m.groups, sure)
		}
	}
	return m
}

// branch is the arcs to a vertex by which a branch of a fan-out may arrive.
type branch struct {
	arcs []arc
	sure bool // it always arrives
}

// branches divides the arcs to v, given by their beginnings, by the targets of a group.
// Targets that share an arc are one branch: a join before v may keep one of their tokens.
func (a *Analysis) branches(g *controlflow.Group, fork, v int, arcs map[int]arc) []*branch {
	var out []*branch
	of := map[int]*branch{} // by the beginning of an arc
	for _, t := range g.Targets {
		region := a.region(t, fork, v)
		b := &branch{sure: len(g.Targets) == 1 || a.leadsTo(t, v) && (t == v || !slices.Contains(region, fork))}
		for _, at := range region {
			e, ok := arcs[at]
			if !ok || at == fork && t != v || of[at] == b {
				continue
			}
			taken := []arc{e}
			if other := of[at]; other != nil {
				taken, other.arcs = other.arcs, nil
				b.sure = b.sure && other.sure
			}
			for _, e := range taken {
				of[e.from] = b
			}
			b.arcs = append(b.arcs, taken...)
		}
		out = append(out, b)
	}
	return out
}

// maxWork bounds the vertices that are visited to divide the arcs of a flow.
const maxWork = 2_000_000

// region returns the vertices on ways from a branch of a fan-out before v: the fan-out
// itself if it leads straight there.
func (a *Analysis) region(first, fork, v int) []int {
	if first == v {
		return []int{fork}
	}
	seen := map[int]bool{first: true}
	out := []int{first}
	for i := 0; i < len(out); i++ {
		a.work++
		for _, next := range a.flow.Digraph.Next(out[i]) {
			if out[i] != fork && next != v && !seen[next] && a.work <= maxWork {
				seen[next] = true
				out = append(out, next)
			}
		}
	}
	return out
}

// leadsTo reports whether every way from a branch passes v. A join that failures may bypass
// does not run without the branch, unless on_bypass is continue: only ways without failures
// count then.
func (a *Analysis) leadsTo(first, v int) bool {
	if a.flow.PostDominators().Covers(v, first) {
		return true
	}
	if v == a.flow.End {
		return false
	}
	how := controlflow.Bypass(a.flow.Source.Nodes[v])
	calm := a.flow.PostDominatorsNoFailures()
	return (how == "drop" || how == "fail" || a.flow.Joins[v]) && calm.Covers(v, first)
}

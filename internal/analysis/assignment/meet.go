// Where branches meet that wait for each other: what any of them makes is made for all.

package assignment

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// gathers reports whether v runs once for all branches that meet at it.
func (a *Analysis) gathers(v int) bool {
	w := a.k.Flow
	return a.k.Waits(v) || w.Joins[v] || a.last && v < w.End && w.Source.Nodes[v].Join == nil
}

// meet splits the arcs by the branches they come from: branches that surely
// arrive make what they make for all.
func (a *Analysis) meet(arcs []arc, v int, into bitset) {
	fork := a.fork(arcs)
	if fork < 0 || controlflow.FailurePolicy(a.k.Flow.Source, fork) != "fail_all" {
		a.any(arcs, into)
		return
	}
	byChild := map[int][]arc{}
	var order []int
	for _, e := range arcs {
		if !a.k.Dominators.Reached(e.from) {
			continue
		}
		c := a.k.Dominators.Below(fork, e.from)
		if byChild[c] == nil {
			order = append(order, c)
		}
		byChild[c] = append(byChild[c], e)
	}
	if !a.apart(order, fork, v) {
		a.any(arcs, into)
		return
	}
	each, all := make(bitset, a.words), make(bitset, a.words)
	for i := range all {
		all[i] = ^uint64(0)
	}
	for _, c := range order {
		clear(each)
		if part := byChild[c]; len(part) > 1 {
			a.meet(part, v, each)
		} else {
			a.any(part, each)
		}
		for i := range all {
			all[i] &= each[i]
		}
	}
	for i := range into {
		into[i] |= all[i]
	}
}

// fork is the lowest branching node whose children part all the arcs' sources;
// -1 when they don't come from branches.
func (a *Analysis) fork(arcs []arc) int {
	x := -1
	for _, e := range arcs {
		if !a.k.Dominators.Reached(e.from) {
			continue
		}
		if x < 0 {
			x = e.from
			continue
		}
		x = a.k.Dominators.Common(x, e.from)
	}
	if x < 0 || !a.k.Starts(x) || slices.ContainsFunc(arcs, func(e arc) bool { return e.from == x }) {
		return -1
	}
	return x
}

// apart reports whether the children of a fork are branches that one group
// always fires together, share no arm, and surely arrive at v.
func (a *Analysis) apart(children []int, fork, v int) bool {
	for i, set := range a.k.FiredBy(fork) {
		g := &a.k.Flow.Groups[fork][i]
		if set != nil && !g.Subset && (g.Join == v || a.last || a.k.Waits(v)) && a.disjoint(children, fork, v, set) {
			return a.inseparable(children, fork)
		}
	}
	return false
}

// inseparable reports whether no group of a fork starts only some of the
// branches: the others would not come then.
func (a *Analysis) inseparable(children []int, fork int) bool {
	for i := range a.k.Flow.Groups[fork] {
		g := &a.k.Flow.Groups[fork][i]
		if a.know.Dead(g) {
			continue
		}
		fired := a.k.FiredBy(fork)[i]
		if fired == nil {
			fired = a.k.NewArmSet(fork)
			for arm := range a.k.ArmCount[fork] {
				if slices.Contains(g.Targets, a.k.ArmTarget(fork, arm)) {
					fired.Add(arm)
				}
			}
		}
		n := 0
		for _, c := range children {
			if a.k.Side(c, fork).In(fired) {
				n++
			}
		}
		if n > 0 && (n < len(children) || g.Subset) {
			return false
		}
	}
	return true
}

func (a *Analysis) disjoint(children []int, fork, v int, set concurrency.ArmSet) bool {
	used := a.k.NewArmSet(fork)
	for _, c := range children {
		if c < 0 {
			return false
		}
		s := a.k.Side(c, fork)
		if !s.In(set) || s.In(used) || !a.arrives(s, fork, v) {
			return false
		}
		if s.Arm >= 0 {
			used.Add(s.Arm)
		} else {
			used.AddAll(s.Set)
		}
	}
	return true
}

// arrives reports whether every path from each of the arms passes v.
//
// A join that a failure may bypass does not run without the branch, unless it says
// that it continues: then only paths without failures have to pass it.
func (a *Analysis) arrives(s concurrency.Side, fork, v int) bool {
	passes := func(i int) bool {
		first := a.k.ArmTarget(fork, i)
		if a.leaves(first, fork, v) {
			return false
		}
		if a.after.Covers(v, first) || !a.waitsForAll(v) {
			return a.after.Covers(v, first)
		}
		calm := a.k.Flow.PostDominatorsNoFailures()
		return calm.Reached(first) && calm.Covers(v, first)
	}
	if s.Arm >= 0 {
		return passes(s.Arm)
	}
	for i := range a.k.ArmCount[fork] {
		if s.Set.Has(i) && !passes(i) {
			return false
		}
	}
	return true
}

// leaves reports whether a branch may come back to where it began before it comes to v: what
// follows is no branch of that fan-out.
func (a *Analysis) leaves(first, fork, v int) bool {
	w := a.k.Flow
	seen := map[int]bool{v: true}
	for todo := []int{first}; w.Cyclic[fork] && len(todo) > 0; todo = todo[1:] {
		if at := todo[0]; at == fork {
			return true
		} else if !seen[at] {
			seen[at] = true
			todo = append(todo, w.Digraph.Next(at)...)
		}
	}
	return false
}

// waitsForAll reports whether v runs only when no failure has bypassed it. Where its
// own failure edges lead when it fails because of one, see bypasses.
func (a *Analysis) waitsForAll(v int) bool {
	if v >= a.k.Flow.End {
		return false
	}
	how := controlflow.Bypass(a.k.Flow.Source.Nodes[v])
	return how == "drop" || how == "fail" || a.k.Flow.Joins[v]
}

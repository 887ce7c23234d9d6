// Definite assignment: what may not have a value yet when a node runs.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// bitset has a bit for each thing that is asked about.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

// outcome says with which outcome of a node an arc is taken.
type outcome uint8

const (
	onSuccess outcome = 1 << iota
	onFail
	unchanged // from an arm to its target
)

type arc struct {
	from int
	with outcome
	// shown is what the conditions on the way show to be made; nil for nothing.
	shown bitset
}

// assignment answers for a set of things, each made by some nodes whenever
// they succeed, at which vertices one may not be made yet.
type assignment struct {
	f     *facts
	k     *concurrency.Branches
	words int
	// makes and drops are what a node makes, and what is gone after it; nil for none.
	makes, drops []bitset
	// into are the arcs into each vertex of the forks' graph.
	into [][]arc
	// open has, for each vertex, what may not be made when it begins.
	open  []bitset
	after *graphalg.Tree
	// same says, once known, whether branches meet at a vertex together: 1, or -1.
	same []int8
	// last says that the question is about the end of the run: branches that
	// meet have all arrived by then, in whatever order.
	last bool
	// first says that it is about whoever comes to END, or to a node without a join,
	// first: what is called may take longer than what runs beside it.
	first bool
	// around are the arcs by which a failure leads to where a join leads that it has
	// made fail, by target.
	around map[int][]aroundJoin
	// shows is what the conditions of a way show: by node, target and group.
	shows map[[3]int]bitset
}

// atTheEnd is the same assignment for the end of the run, not yet solved.
func (a *assignment) atTheEnd() *assignment {
	b := *a
	b.last = true
	b.open = make([]bitset, len(a.open))
	backing := make(bitset, len(a.open)*a.words)
	for v := range b.open {
		b.open[v] = backing[v*a.words : (v+1)*a.words]
	}
	return &b
}

// newAssignment prepares for size things of a graph with forks.
func (f *facts) newAssignment(size int) *assignment {
	k := f.forks()
	n := k.Split.Len()
	a := &assignment{
		f: f, k: k, words: (size + 63) / 64, makes: make([]bitset, n), drops: make([]bitset, n),
		into: make([][]arc, n), open: make([]bitset, n), same: make([]int8, n),
	}
	backing := make(bitset, n*a.words)
	for v := range a.open {
		a.open[v] = backing[v*a.words : (v+1)*a.words]
	}
	a.after = k.Flow.PostDominators()
	a.arcs()
	a.detours()
	return a
}

// making notes that a node makes a thing, dropping that it is gone after it.
func (a *assignment) making(v, thing int)   { a.note(a.makes, v, thing) }
func (a *assignment) dropping(v, thing int) { a.note(a.drops, v, thing) }

func (a *assignment) note(list []bitset, v, thing int) {
	if list[v] == nil {
		list[v] = make(bitset, a.words)
	}
	list[v].set(thing)
}

// arcs says with which outcomes each vertex is entered.
func (a *assignment) arcs() {
	with := make([]outcome, a.f.End+1) // by target, of one node
	for v, groups := range a.k.Flow.Groups {
		for i := range groups {
			how := onSuccess
			if groups[i].Kind == controlflow.OnFailure {
				if !a.fails(v, &groups[i]) {
					continue
				}
				how = onFail
			}
			for _, t := range groups[i].Targets {
				with[t] |= how
			}
		}
		for i, next := range a.k.Split.Next(v) {
			t := next
			if a.k.Starts(v) {
				t = a.k.ArmTarget(v, i)
				a.into[t] = append(a.into[t], arc{from: next, with: unchanged})
			}
			if with[t] != 0 {
				a.into[next] = append(a.into[next], arc{from: v, with: with[t]})
			}
		}
		for i := range groups {
			for _, t := range groups[i].Targets {
				with[t] = 0
			}
		}
	}
}

// fails reports whether a failure edge counts: an `always` edge of a node that
// hardly fails is meant for its success.
func (a *assignment) fails(v int, g *controlflow.Group) bool {
	switch a.f.graph.Nodes[v].Kind.Value {
	case "set", "pass":
		return slices.ContainsFunc(g.Edges, func(e int) bool { return a.f.graph.Edges[e].Condition == "on_failure" })
	}
	return true
}

// solve computes open to its least fixpoint: nothing is made at the start.
func (a *assignment) solve() {
	start := a.f.Start()
	for i := range a.open[start] {
		a.open[start][i] = ^uint64(0)
	}
	next := make(bitset, a.words)
	for changed := true; changed; {
		changed = false
		for _, v := range a.k.Order {
			clear(next)
			a.join(v, next)
			for i := range next {
				if next[i]&^a.open[v][i] != 0 {
					a.open[v][i] |= next[i]
					changed = true
				}
			}
		}
	}
}

// left is word i of what is open when an arc is taken.
func (a *assignment) left(e arc, i int) uint64 {
	in := a.open[e.from][i]
	if e.with == unchanged {
		return in
	}
	out := in
	if a.makes[e.from] != nil {
		out &^= a.makes[e.from][i]
	}
	if a.drops[e.from] != nil {
		out |= a.drops[e.from][i]
	}
	if e.with&onFail != 0 {
		out |= in
	}
	if e.shown != nil {
		out &^= e.shown[i]
	}
	return out
}

// join combines the arcs into v: what is open on any of them, or, where
// branches meet and wait for each other, what is open on all.
func (a *assignment) join(v int, into bitset) {
	arcs := a.into[v]
	if len(arcs) < 2 || a.around[v] != nil || a.first && v == a.f.End || !a.gathers(v) {
		a.any(arcs, into)
		return
	}
	a.meet(arcs, v, into)
}

func (a *assignment) any(arcs []arc, into bitset) {
	for _, e := range arcs {
		for i := range into {
			into[i] |= a.left(e, i)
		}
	}
}

// gathers reports whether v runs once for all branches that meet at it.
func (a *assignment) gathers(v int) bool {
	if a.k.Waits(v) {
		return true
	}
	if v > a.f.End || a.f.graph.Nodes[v].Join != nil {
		return false
	}
	if a.last || a.first {
		return a.last
	}
	if a.same[v] == 0 {
		a.same[v] = 1
		if len(a.k.Unequal(v, 1)) > 0 {
			a.same[v] = -1
		}
	}
	return a.same[v] > 0
}

// meet splits the arcs by the branches they come from: branches that surely
// arrive make what they make for all.
func (a *assignment) meet(arcs []arc, v int, into bitset) {
	fork := a.fork(arcs)
	if fork < 0 || a.policy(fork) != "fail_all" {
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
func (a *assignment) fork(arcs []arc) int {
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
func (a *assignment) apart(children []int, fork, v int) bool {
	for i, set := range a.k.FiredBy(fork) {
		if set != nil && !a.k.Flow.Groups[fork][i].Subset && a.disjoint(children, fork, v, set) {
			return a.inseparable(children, fork)
		}
	}
	return false
}

// inseparable reports whether no group of a fork starts only some of the
// branches: the others would not come then.
func (a *assignment) inseparable(children []int, fork int) bool {
	for i := range a.k.Flow.Groups[fork] {
		g := &a.k.Flow.Groups[fork][i]
		if a.f.isDead(g) {
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

func (a *assignment) disjoint(children []int, fork, v int, set concurrency.ArmSet) bool {
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
func (a *assignment) arrives(s concurrency.Side, fork, v int) bool {
	passes := func(i int) bool {
		first := a.k.ArmTarget(fork, i)
		return a.after.Covers(v, first) || a.waitsForAll(v) && a.calm().Reached(first) && a.calm().Covers(v, first)
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

// at is what may not be made when an expression is evaluated, by thing.
func (a *assignment) at(u *dataflow.Use) func(thing int) bool {
	if u.Node < 0 {
		return a.open[a.f.End].has
	}
	in := a.open[u.Node]
	if u.Moment != dataflow.OnEdge {
		return in.has
	}
	if u.Edge >= 0 && a.f.graph.Edges[u.Edge].Condition == "on_failure" {
		return func(thing int) bool { return in.has(thing) || a.bypassedWithout(u.Node, thing) }
	}
	always := u.Edge >= 0 && a.f.graph.Edges[u.Edge].Condition == "always"
	with := onSuccess
	if kind := a.f.graph.Nodes[u.Node].Kind.Value; always && kind != "set" && kind != "pass" {
		with |= onFail
	}
	return func(thing int) bool {
		return a.left(arc{from: u.Node, with: with}, thing/64)&(1<<(thing%64)) != 0
	}
}

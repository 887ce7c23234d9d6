// Package assignment is the definite-assignment analysis of a flow: which things, such as
// state keys and outputs, may not be made yet where a node begins.
//
// It is a forward may-analysis to a least fixpoint over bit sets. Where branches meet that
// wait for each other, what one of them makes is made for all; everywhere else a thing is
// open if it is so on any way.
package assignment

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

// bitsets are n empty sets of so many words.
func bitsets(n, words int) []bitset {
	out, backing := make([]bitset, n), make(bitset, n*words)
	for v := range out {
		out[v], backing = backing[:words:words], backing[words:]
	}
	return out
}

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

// Analysis answers for a set of things, each made by some nodes whenever
// they succeed, at which vertices one may not be made yet.
type Analysis struct {
	k     *concurrency.Branches
	know  Known
	words int
	// made and gone are what a node makes, and what is gone after it; nil for none.
	made, gone []bitset
	// into are the arcs into each vertex of the forks' graph.
	into [][]arc
	// open has, for each vertex, what may not be made when it begins.
	open  []bitset
	after *graphalg.Tree
	// last says that the question is about the end of the run: branches that
	// meet have all arrived by then, in whatever order.
	last bool
	// First says that it is about whoever comes to END, or to a node without a join,
	// first: what is called may take longer than what runs beside it.
	First bool
	// around are the arcs by which a failure leads to where a join leads that it has
	// made fail, by target.
	around map[int][]aroundJoin
	// shown is what the conditions of a way show: by node, target and group.
	shown map[[3]int]bitset
}

// Known is what the analysis asks of others.
type Known struct {
	// Dead reports whether a group is proven never to fire.
	Dead func(*controlflow.Group) bool
	// Escapes reports whether a node may fail, and no edge is sure to catch it.
	Escapes func(v int) bool
	// MeetsLost is the join that runs when all branches of a fan-out have failed,
	// by the group that starts them; -1 for none.
	MeetsLost func(fork int, g *controlflow.Group) int
}

// AtEnd is the same assignment for the end of the run, not yet solved.
func (a *Analysis) AtEnd() *Analysis {
	b := *a
	b.last = true
	b.open = bitsets(len(a.open), a.words)
	return &b
}

// New prepares an analysis of size things, numbered from 0.
func New(k *concurrency.Branches, size int, know Known) *Analysis {
	n := k.Split.Len()
	a := &Analysis{k: k, know: know, into: make([][]arc, n), after: k.Flow.PostDominators()}
	a.arcs()
	a.detours()
	return a.Of(size)
}

// Of is an analysis of size other things of the same graph.
func (a *Analysis) Of(size int) *Analysis {
	n := len(a.into)
	b := &Analysis{
		k: a.k, know: a.know, words: (size + 63) / 64, made: make([]bitset, n), gone: make([]bitset, n),
		into: make([][]arc, n), open: bitsets(n, (size+63)/64), after: a.after, around: a.around,
	}
	for v := range b.open {
		b.into[v] = slices.Clone(a.into[v])
	}
	return b
}

// Makes notes that a node makes a thing whenever it succeeds.
func (a *Analysis) Makes(v, thing int) { a.note(a.made, v, thing) }

// Drops notes that a thing is gone after a node.
func (a *Analysis) Drops(v, thing int) { a.note(a.gone, v, thing) }

// MadeBy reports whether a node makes a thing.
func (a *Analysis) MadeBy(v, thing int) bool { return a.made[v] != nil && a.made[v].has(thing) }

// Dropped reports whether any node drops a thing.
func (a *Analysis) Dropped(thing int) bool {
	return slices.ContainsFunc(a.gone, func(b bitset) bool { return b != nil && b.has(thing) })
}

// Shows notes that what a group of a node asks of a way to a target shows a thing to be made.
func (a *Analysis) Shows(v, target, group, thing int) {
	if a.shown == nil {
		a.shown = map[[3]int]bitset{}
	}
	at := [3]int{v, target, group}
	if a.shown[at] == nil {
		a.shown[at] = make(bitset, a.words)
	}
	a.shown[at].set(thing)
}

// Only leaves out the arcs of edges from a node to a target that may not be taken.
func (a *Analysis) Only(may func(v, target int) bool) {
	for x := range a.into {
		a.into[x] = slices.DeleteFunc(a.into[x], func(e arc) bool { return e.with != unchanged && !may(e.from, a.k.Node(x)) })
	}
}

func (a *Analysis) note(list []bitset, v, thing int) {
	if list[v] == nil {
		list[v] = make(bitset, a.words)
	}
	list[v].set(thing)
}

// arcs says with which outcomes each vertex is entered.
func (a *Analysis) arcs() {
	with := make([]outcome, a.k.Flow.End+1) // by target, of one node
	for v, groups := range a.k.Flow.Groups {
		for i := range groups {
			how := a.outcomeOf(v, &groups[i])
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

// outcomeOf is with which outcome a group fires; none for an `always` edge behind a failure
// of a node that hardly fails: it is meant for its success.
func (a *Analysis) outcomeOf(v int, g *controlflow.Group) outcome {
	if g.Kind != controlflow.OnFailure {
		return onSuccess
	}
	kind := a.k.Flow.Source.Nodes[v].Kind.Value
	meant := func(e int) bool { return a.k.Flow.Source.Edges[e].Condition == "on_failure" }
	if kind != "set" && kind != "pass" || slices.ContainsFunc(g.Edges, meant) {
		return onFail
	}
	return 0
}

// mark says of each arc what conditions show on it.
func (a *Analysis) mark() {
	for next := range a.into {
		for j := range a.into[next] {
			if e := &a.into[next][j]; a.shown != nil && e.with != unchanged {
				e.shown = a.showsAll(e, a.k.Node(next))
			}
		}
	}
}

// showsAll is what every group of a node shows that an arc to a target stands for.
func (a *Analysis) showsAll(e *arc, target int) bitset {
	var out bitset
	for i, g := range a.k.Flow.Groups[e.from] {
		if !slices.Contains(g.Targets, target) {
			continue
		}
		if e.with&a.outcomeOf(e.from, &g) == 0 {
			continue
		}
		shown := a.shown[[3]int{e.from, target, i}]
		if shown == nil {
			return nil
		}
		if out == nil {
			out = slices.Clone(shown)
			continue
		}
		for w := range out {
			out[w] &= shown[w]
		}
	}
	return out
}

// Solve computes open to its least fixpoint: nothing is made at the start.
func (a *Analysis) Solve() {
	a.mark()
	start := a.k.Flow.Start()
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

// MayLack reports whether a thing may not be made at v.
func (a *Analysis) MayLack(v, thing int) bool { return a.open[v].has(thing) }

// MayPass reports whether a thing may not be made when a group leads from v to a target.
func (a *Analysis) MayPass(v, target, group, thing int) bool {
	with := a.outcomeOf(v, &a.k.Flow.Groups[v][group])
	return with != 0 && a.left(arc{v, with, a.shown[[3]int{v, target, group}]}, thing/64)&(1<<(thing%64)) != 0
}

// left is word i of what is open when an arc is taken.
func (a *Analysis) left(e arc, i int) uint64 {
	in := a.open[e.from][i]
	if e.with == unchanged {
		return in
	}
	out := in
	if a.made[e.from] != nil {
		out &^= a.made[e.from][i]
	}
	if a.gone[e.from] != nil {
		out |= a.gone[e.from][i]
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
func (a *Analysis) join(v int, into bitset) {
	arcs := a.into[v]
	if len(arcs) < 2 || a.around[v] != nil || a.First && v == a.k.Flow.End || !a.gathers(v) {
		a.any(arcs, into)
		return
	}
	a.meet(arcs, v, into)
}

func (a *Analysis) any(arcs []arc, into bitset) {
	for _, e := range arcs {
		for i := range into {
			into[i] |= a.left(e, i)
		}
	}
}

// At is what may not be made when an expression is evaluated, by thing.
func (a *Analysis) At(u *dataflow.Use) func(thing int) bool {
	if u.Node < 0 {
		return a.open[a.k.Flow.End].has
	}
	in := a.open[u.Node]
	if u.Moment != dataflow.OnEdge {
		return in.has
	}
	if u.Edge >= 0 && a.k.Flow.Source.Edges[u.Edge].Condition == "on_failure" {
		return func(thing int) bool { return in.has(thing) || a.bypassedWithout(u.Node, thing) }
	}
	always := u.Edge >= 0 && a.k.Flow.Source.Edges[u.Edge].Condition == "always"
	with := onSuccess
	if kind := a.k.Flow.Source.Nodes[u.Node].Kind.Value; always && kind != "set" && kind != "pass" {
		with |= onFail
	}
	return func(thing int) bool {
		return a.left(arc{from: u.Node, with: with}, thing/64)&(1<<(thing%64)) != 0
	}
}

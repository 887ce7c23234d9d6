// Package assignment finds the variables, like state keys and outputs, that may be unassigned where
// a node begins: the definite-assignment analysis of a flow.
//
// It is a forward may-analysis to a least fixed point over bit sets. A variable is open at a node
// if it is open on some path there. Where branches join, it must be open in each of them.
package assignment

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// outcome is a set of outcomes of a node.
type outcome uint8

const (
	onSuccess outcome = 1 << iota
	onFail
)

// arc leaves a node after any of some outcomes.
type arc struct {
	from int
	with outcome
}

// Analysis finds where variables may be unassigned. Each success of some nodes assigns them.
type Analysis struct {
	*graph
	size     int
	assigned []big.Int           // by node: a bit for each variable
	proven   map[[3]int]*big.Int // variables that conditions prove assigned, by node, target and group
	open     []big.Int           // variables that may be unassigned, by vertex
	// bypassed holds, by join, the variables that may be unassigned when it fails because a branch bypasses it.
	bypassed map[int]*big.Int
	// FailuresAssign says that a failed node assigns its variables, too.
	FailuresAssign bool
	// First says that END does not wait for all branches, but begins with the first.
	First bool
}

// graph holds the facts that all analyses of a flow share.
type graph struct {
	flow *controlflow.Graph
	dead func(*controlflow.Group) bool
	into [][]arc          // by vertex, from nodes that the start reaches
	met  map[int]*meeting // by vertex: how branches arrive there
	most map[int]int      // by join with a number: see controlflow.Graph.MostArrivals
	work int              // vertices that divideArcs has visited
}

// New prepares an analysis of size variables of a flow. No node of it may choose any other. dead
// reports whether a group is proven never to fire. The analysis assumes that a join runs only after
// a branch has arrived, and that only joins of such a branch fail.
func New(flow *controlflow.Graph, size int, dead func(*controlflow.Group) bool) *Analysis {
	a := &Analysis{graph: &graph{flow: flow, dead: dead, into: make([][]arc, flow.Digraph.Len()), met: map[int]*meeting{}, most: map[int]int{}}}
	a.addArcs()
	return a.WithVariables(size)
}

// WithVariables returns an analysis of the same flow for size other variables.
func (a *Analysis) WithVariables(size int) *Analysis {
	return &Analysis{graph: a.graph, size: size, assigned: make([]big.Int, a.flow.End), proven: map[[3]int]*big.Int{}, open: make([]big.Int, len(a.into)), bypassed: map[int]*big.Int{}}
}

// AddAssignment notes that each success of a node assigns a variable.
func (a *Analysis) AddAssignment(v, variable int) { a.assigned[v].SetBit(&a.assigned[v], variable, 1) }

// Assigns reports whether each success of a node assigns a variable.
func (a *Analysis) Assigns(v, variable int) bool { return a.assigned[v].Bit(variable) == 1 }

// AddProof notes that the conditions of a group prove a variable assigned at its target. If target is
// -1, group is the index of an edge, and the conditions tried before it are the proof.
func (a *Analysis) AddProof(v, target, group, variable int) {
	at := [3]int{v, target, group}
	if a.proven[at] == nil {
		a.proven[at] = new(big.Int)
	}
	a.proven[at].SetBit(a.proven[at], variable, 1)
}

// MayBeUnassigned reports whether a variable may be unassigned at v.
func (a *Analysis) MayBeUnassigned(v, variable int) bool { return a.open[v].Bit(variable) == 1 }

// addArcs records the arcs into each vertex with their outcomes.
func (a *Analysis) addArcs() {
	for v, g := range a.flow.AllGroups() {
		with := a.outcomeOf(v, g)
		if with == 0 || !a.flow.Reached[v] {
			continue
		}
		for _, t := range g.Targets {
			if last := len(a.into[t]) - 1; last >= 0 && a.into[t][last].from == v {
				a.into[t][last].with |= with
			} else {
				a.into[t] = append(a.into[t], arc{from: v, with: with})
			}
		}
	}
}

// outcomeOf returns the outcome after which a group fires. `always` means a success if v rarely fails.
func (a *Analysis) outcomeOf(v int, g *controlflow.Group) outcome {
	if g.Kind != controlflow.OnFailure {
		return onSuccess
	}
	onFailure := func(e int) bool { return a.flow.Source.Edges[e].Condition == "on_failure" }
	if a.rarelyFails(v) && !slices.ContainsFunc(g.Edges, onFailure) {
		return 0
	}
	return onFail
}

func (a *Analysis) rarelyFails(v int) bool {
	kind := a.flow.Source.Nodes[v].Kind.Value
	return kind == "set" || kind == "pass"
}

// Solve computes the least fixed point: nothing is assigned at the start.
func (a *Analysis) Solve() {
	start, one := &a.open[a.flow.Start()], big.NewInt(1)
	start.Sub(start.Lsh(one, uint(a.size)), one)
	for changed := true; changed; {
		changed = false
		for _, v := range a.flow.Dominators().Order {
			next := a.openOnAny(a.into[v], v)
			if v <= a.flow.End && (v != a.flow.End || !a.First) && (a.WaitsForAll(v) || a.flow.Joins[v]) {
				if a.met[v] == nil {
					a.met[v] = a.divideArcs(a.into[v], v)
				}
				if v < a.flow.End && controlflow.Bypass(a.flow.Source.Nodes[v]) == "fail" {
					changed = changed || a.bypassed[v] == nil || next.Cmp(a.bypassed[v]) != 0
					a.bypassed[v] = next
				}
				next = a.openInAll(a.met[v], v)
			}
			if next.Or(next, &a.open[v]).Cmp(&a.open[v]) != 0 {
				a.open[v].Set(next)
				changed = true
			}
		}
	}
}

// openOnAny returns the variables that are open on at least one of the arcs to a vertex.
func (a *Analysis) openOnAny(arcs []arc, v int) *big.Int {
	out := new(big.Int)
	for _, e := range arcs {
		out.Or(out, a.openAfter(e, v))
	}
	return out
}

// openAfter returns the variables that are open after an arc to a vertex.
func (a *Analysis) openAfter(e arc, v int) *big.Int {
	out := new(big.Int).Set(&a.open[e.from])
	if e.with&onFail != 0 {
		out.Or(out, a.openAtFailure(e.from))
	}
	if e.with&onFail == 0 || a.FailuresAssign {
		out.AndNot(out, &a.assigned[e.from])
	}
	return out.AndNot(out, a.provenBy(e, v))
}

// openAtFailure returns the variables that are open after a failure of a node.
func (a *Analysis) openAtFailure(v int) *big.Int {
	return cmp.Or(a.bypassed[v], &a.open[v])
}

// provenBy returns the variables that every group of an arc proves assigned.
func (a *Analysis) provenBy(e arc, v int) *big.Int {
	var out *big.Int
	groups := a.flow.Groups[e.from]
	for i := range groups {
		if len(a.proven) == 0 || e.with&a.outcomeOf(e.from, &groups[i]) == 0 || !slices.Contains(groups[i].Targets, v) {
			continue
		}
		proven := a.proven[[3]int{e.from, v, i}]
		if proven == nil {
			return new(big.Int)
		} else if out == nil {
			out = new(big.Int).Set(proven)
		}
		out.And(out, proven)
	}
	return cmp.Or(out, new(big.Int))
}

// OpenAt returns the variables that may be unassigned when an expression is evaluated.
func (a *Analysis) OpenAt(u *dataflow.Use) *big.Int {
	switch {
	case u.Node < 0:
		return &a.open[a.flow.End]
	case u.Moment != dataflow.OnEdge:
		return &a.open[u.Node]
	}
	condition := ""
	if u.Edge >= 0 {
		condition = a.flow.Source.Edges[u.Edge].Condition
	}
	if condition == "on_failure" {
		return a.openAtFailure(u.Node)
	}
	with := onSuccess
	if condition == "always" && !a.rarelyFails(u.Node) {
		with |= onFail
	}
	open := a.openAfter(arc{from: u.Node, with: with}, -1)
	if proven := a.proven[[3]int{u.Node, -1, u.Edge}]; proven != nil {
		open.AndNot(open, proven)
	}
	return open
}

// FindPath returns a shortest path from the start to v that does not assign a variable, or nil.
func (a *Analysis) FindPath(variable, v int) []int {
	return a.findOpenPath(variable, a.flow.Start(), v)
}

func (a *Analysis) findOpenPath(variable, from, to int) []int {
	path := graphalg.Path(func(to int) (from []int) {
		for _, e := range a.into[to] {
			if a.openAfter(e, to).Bit(variable) == 1 {
				from = append(from, e.from)
			}
		}
		return from
	}, to, from)
	slices.Reverse(path)
	return path
}

// ListPaths returns at most so many paths from the start to v that do not assign a variable. They repeat
// no vertex.
func (a *Analysis) ListPaths(variable, v, most int) (paths [][]int) {
	var path []int
	work := 100 * most
	var walk func(to int)
	walk = func(to int) {
		if work--; work < 0 || len(paths) == most || slices.Contains(path, to) {
			return
		}
		path = append(path, to)
		if to == a.flow.Start() {
			whole := slices.Clone(path)
			slices.Reverse(whole)
			paths = append(paths, whole)
		}
		for _, e := range a.into[to] {
			if to != a.flow.Start() && a.openAfter(e, to).Bit(variable) == 1 {
				walk(e.from)
			}
		}
		path = path[:len(path)-1]
	}
	walk(v)
	return paths
}

// SurelyAssigns reports whether a branch that begins at first always arrives at a join, and assigns a
// variable before.
func (a *Analysis) SurelyAssigns(first, join, variable int) bool {
	return a.findOpenPath(variable, first, join) == nil && a.surelyPasses(first, join)
}

// meeting says how branches arrive at a vertex.
type meeting struct {
	arcs []arc
	// groups are the alternatives of the fan-out that starts all arcs. Every branch of the chosen one
	// arrives. It is empty if no fan-out starts them, or if some branch may not arrive.
	groups [][]*meeting
}

// WaitsForAll reports whether v is END, or a join that runs when the last branch has arrived.
func (a *Analysis) WaitsForAll(v int) bool {
	if v == a.flow.End {
		return true
	}
	join := a.flow.Source.Nodes[v].Join
	if join == nil || join.Wait != "N" {
		return join != nil && join.Wait == "all"
	}
	if _, known := a.most[v]; !known {
		a.most[v] = a.flow.MostArrivals(v, a.dead)
	}
	return join.Count >= a.most[v]
}

// openInAll returns the variables that are open in all branches that surely arrive.
func (a *Analysis) openInAll(m *meeting, v int) *big.Int {
	if len(m.groups) == 0 {
		return a.openOnAny(m.arcs, v)
	}
	out := new(big.Int)
	for _, branches := range m.groups {
		all := a.openInAll(branches[0], v)
		for _, b := range branches[1:] {
			all.And(all, a.openInAll(b, v))
		}
		out.Or(out, all)
	}
	return out
}

// divideArcs groups the arcs to v by the branches of the fan-out that starts them.
func (a *Analysis) divideArcs(arcs []arc, v int) *meeting {
	if len(arcs) < 2 {
		return &meeting{arcs: arcs}
	}
	fork := arcs[0].from
	for _, e := range arcs {
		fork = a.flow.Dominators().CommonDominator(fork, e.from)
	}
	return a.divideFrom(fork, arcs, v)
}

// divideFrom groups the arcs to v by the branches of a given fan-out.
func (a *Analysis) divideFrom(fork int, arcs []arc, v int) *meeting {
	m := &meeting{arcs: arcs}
	if !controlflow.CanFanOut(a.flow.Groups[fork]) || controlflow.ParallelOf(a.flow.Source, fork).OnFailure != "fail_all" {
		return m
	}
	byNode := map[int]arc{}
	for _, e := range arcs {
		byNode[e.from] = e
	}
	for i := range a.flow.Groups[fork] {
		g := &a.flow.Groups[fork][i]
		if a.dead(g) {
			continue
		}
		var sure []*meeting
		branches := a.divideByTarget(g, fork, v, byNode)
		for _, b := range branches {
			switch {
			case !b.sure || len(b.arcs) == 0:
			case len(b.arcs) < len(arcs):
				sure = append(sure, a.divideArcs(b.arcs, v))
			case len(g.Targets) == 1 && !b.returns: // leads to another fan-out
				sure = append(sure, a.divideFrom(a.findFork(g.Targets[0], v), arcs, v))
			}
		}
		switch {
		case !slices.ContainsFunc(branches, func(b *branch) bool { return len(b.arcs) > 0 }): // leads elsewhere
		case len(sure) == 0 || g.Subset || len(g.Targets) > 1 && g.Join != v && !a.WaitsForAll(v) || a.work > maxWork:
			return &meeting{arcs: arcs}
		default:
			m.groups = append(m.groups, sure)
		}
	}
	return m
}

// findFork follows a path to v up to the first vertex that does not have exactly one successor.
func (a *Analysis) findFork(first, v int) int {
	seen := map[int]bool{v: true}
	for !seen[first] && len(a.flow.Digraph.Next(first)) == 1 {
		seen[first] = true
		first = a.flow.Digraph.Next(first)[0]
	}
	return first
}

// branch holds the arcs on which a branch of a fan-out may arrive at a vertex.
type branch struct {
	arcs []arc
	// sure says that the branch always arrives, returns that it may lead back to the fan-out.
	sure, returns bool
}

// divideByTarget groups the arcs to v, keyed by their first node, by the targets of a group. Targets
// that share an arc are one branch, since a join before v may merge their tokens.
func (a *Analysis) divideByTarget(g *controlflow.Group, fork, v int, arcs map[int]arc) []*branch {
	var out []*branch
	of := map[int]*branch{} // by the first node of an arc
	for _, t := range g.Targets {
		region := a.findRegion(t, fork, v)
		b := &branch{returns: slices.Contains(region, fork)}
		b.sure = len(g.Targets) == 1 || a.surelyPasses(t, v) && (t == v || !b.returns)
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

// maxWork bounds the vertices that divideArcs visits in a flow.
const maxWork = 2_000_000

// findRegion returns the vertices of a branch up to v, or only the fan-out if the branch begins at v.
func (a *Analysis) findRegion(first, fork, v int) []int {
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

// surelyPasses reports whether every path of a branch passes v, apart from failures that a join v expects.
func (a *Analysis) surelyPasses(first, v int) bool {
	if a.flow.PostDominators().Dominates(v, first) {
		return true
	}
	if v == a.flow.End {
		return false
	}
	how := controlflow.Bypass(a.flow.Source.Nodes[v])
	noFailures := a.flow.PostDominatorsNoFailures()
	return (how == "drop" || how == "fail" || a.flow.Joins[v]) && noFailures.Dominates(v, first)
}

// How often nodes can run by the shape of the graph alone: what bounds a run whose ways
// are too many to be followed.

package lint

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// arrivals is how often each node can run at most. A node on no cycle runs once for each
// time that one before it leads to it; a join of all once, since when it goes on nothing is
// left that could come to it, unless it lies behind a fan-out on a cycle: it waits apart for
// the branches of each time. One on a cycle is bounded by its own limit of visits, for each
// branch that comes to the cycle, if none begin there.
func (w *boundWalk) arrivals() []float64 {
	n := len(w.f.graph.Nodes)
	runs, known := make([]float64, n), make([]bool, n)
	into := make([][]int, n) // who leads to it, once for each edge
	often := make([]bool, n) // a list may name it any number of times
	splits := map[int]bool{} // by component: branches begin in it
	for v, groups := range w.flow.Groups {
		for i := range groups {
			stay := 0
			for _, to := range groups[i].Targets {
				if to < n && w.flow.Reached[v] && !w.f.isDead(&groups[i]) {
					into[to] = append(into[to], v)
					often[to] = often[to] || lists(&groups[i])
					if w.flow.SCC[to] == w.flow.SCC[v] {
						stay++
					}
				}
			}
			splits[w.flow.SCC[v]] = splits[w.flow.SCC[v]] || stay > 1 || stay > 0 && groups[i].Subset
		}
	}
	var visit func(v int) float64
	// enter is how often branches come to a node from others than those inside.
	enter := func(v int, inside func(u int) bool) float64 {
		sum := 0.0
		if v == w.f.Start() {
			sum = 1
		}
		for _, u := range into[v] {
			if !inside(u) {
				sum += visit(u)
			}
		}
		if often[v] {
			return math.Inf(1)
		}
		return sum
	}
	visit = func(v int) float64 {
		if known[v] {
			return runs[v]
		}
		known[v] = true
		node := w.f.graph.Nodes[v]
		switch {
		case !w.flow.Reached[v]:
		case w.flow.Cyclic[v] && w.limit[v] > 0 && node.OnMaxVisits != "skip" && !splits[w.flow.SCC[v]]:
			same := func(u int) bool { return w.flow.SCC[u] == w.flow.SCC[v] }
			for u := range n {
				if same(u) {
					runs[v] += float64(w.limit[v]) * enter(u, same)
				}
			}
		case w.flow.Cyclic[v]:
			runs[v] = math.Inf(1)
		case node.Join != nil && w.meets(v):
			runs[v] = 1
		default:
			runs[v] = enter(v, func(int) bool { return false })
			if fork := w.joined(v); fork >= 0 {
				runs[v] = min(runs[v], visit(fork))
			}
		}
		return runs[v]
	}
	for v := range n {
		visit(v)
	}
	return runs
}

// joined is a fan-out all of whose branches join at a node on no cycle although it declares
// no join, and which every way to it passes; -1 for none.
func (w *boundWalk) joined(v int) int {
	tree := w.flow.Dominators()
	for fork := tree.Parent[v]; fork >= 0 && w.flow.Joins[v]; fork = tree.Parent[fork] {
		if groups := w.flow.Groups[fork]; len(groups) == 1 && groups[0].Join == v && !w.refanned(v) {
			return fork
		}
	}
	return -1
}

// refanned reports whether a fan-out from which branches come to a join may be gone round
// to again.
func (w *boundWalk) refanned(join int) bool {
	reaches := w.flow.Reverse.Reach(join)
	for v, groups := range w.flow.Groups {
		if reaches[v] && w.flow.Cyclic[v] && controlflow.Fans(groups) {
			return true
		}
	}
	return false
}

// sure are nodes that every run which completes has run, and what they take at least: the
// start, and those to which all groups of one of them lead.
func (w *boundWalk) sure() (names []string, least cost) {
	if w.flow.Anywhere {
		return nil, cost{}
	}
	nodes := []int{w.f.Start()}
	cut := w.caught || controlflow.Tolerates(w.f.graph) ||
		slices.ContainsFunc(w.f.graph.Nodes, func(n *spec.Node) bool { return n.Join != nil && n.Join.Wait != "all" })
	for i := 0; i < len(nodes); i++ {
		v := nodes[i]
		groups := w.flow.Groups[v]
		takes := w.costs[v].least
		if slices.ContainsFunc(groups, func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure }) {
			takes = cost{inSteps: 1}
		}
		names, least = append(names, w.f.Name(v)), least.plus(takes)
		if cut || len(groups) == 0 || groups[0].Subset {
			continue
		}
		for _, to := range groups[0].Targets {
			missing := func(g controlflow.Group) bool { return g.Subset || !slices.Contains(g.Targets, to) }
			if to < len(w.f.graph.Nodes) && !slices.Contains(nodes, to) && !slices.ContainsFunc(groups, missing) {
				nodes = append(nodes, to)
			}
		}
	}
	return names, least
}

// atLeast puts what every run takes for sure in the place of lower bounds.
func (w *boundWalk) atLeast(out *Bounds) {
	_, least := w.sure()
	for metric, r := range []*Range{&out.Steps, &out.LLMCalls} {
		if least[metric] > r.Min {
			r.Min, r.MinPath = least[metric], nil
		}
	}
}

// lists reports whether a group begins as many branches as a list says.
func lists(g *controlflow.Group) bool { return g.Kind == controlflow.ByGoto && g.Subset }

// meets reports whether a node on no cycle runs once for all branches that come to it.
func (w *boundWalk) meets(v int) bool {
	join := w.f.graph.Nodes[v].Join
	return !w.flow.Cyclic[v] && (join != nil && join.Wait == "all" && !w.refanned(v) && !w.crossed(v) || w.joined(v) >= 0)
}

// crossed reports whether other joins lie on some ways from a fan-out to a join and not on
// all: branches that met there no longer wait for those that did not.
func (w *boundWalk) crossed(join int) bool {
	tree, before := w.flow.Dominators(), w.flow.Reverse.Reach(join)
	top := tree.Parent[join]
	within := func(v int) bool { return v != join && v != top && before[v] && tree.Covers(top, v) }
	var joins []int
	for v, n := range w.f.graph.Nodes {
		if within(v) && (n.Join != nil || w.flow.Joins[v]) {
			joins = append(joins, v)
		}
	}
	for fork, groups := range w.flow.Groups {
		if len(joins) == 0 || !within(fork) || !controlflow.Fans(groups) {
			continue
		}
		behind := w.flow.Digraph.Reach(w.flow.Digraph.Next(fork)...)
		on := func(v int) bool { return v != fork && behind[v] }
		closes := func(v int) bool {
			next := func(at int) []int {
				if at == v {
					return nil
				}
				return w.flow.Digraph.Next(at)
			}
			return on(v) && shortest(next, w.flow.Digraph.Len(), fork, join) == nil
		}
		if slices.ContainsFunc(joins, on) && !slices.ContainsFunc(joins, closes) {
			return true
		}
	}
	return false
}

// dearestFrom is what follows the start at most, where no cycle does: of the ways out of a
// node the dearest, and a node at which branches meet once for the last node before that
// all of them pass.
func (w *boundWalk) dearestFrom() cost {
	n := len(w.f.graph.Nodes)
	meets, behind := make([]bool, n), map[int][]int{}
	for v := range n {
		if meets[v] = w.flow.Reached[v] && w.meets(v); meets[v] {
			last := w.flow.Dominators().Parent[v]
			behind[last] = append(behind[last], v)
		}
	}
	known := map[int]cost{}
	var from func(v int) cost
	from = func(v int) cost {
		if w.flow.Cyclic[v] {
			return without
		}
		if c, ok := known[v]; ok {
			return c
		}
		var most cost
		for i := range w.flow.Groups[v] {
			var all cost
			if lists(&w.flow.Groups[v][i]) {
				all = without
			}
			for _, to := range w.flow.Groups[v][i].Targets {
				if to < n && !meets[to] {
					all = all.plus(from(to))
				}
			}
			for metric := range most {
				most[metric] = max(most[metric], all[metric])
			}
		}
		most = most.plus(w.dearestVisit(v))
		for _, m := range behind[v] {
			most = most.plus(from(m))
		}
		known[v] = most
		return most
	}
	return from(w.f.Start())
}

// capped puts bounds by the shape of the graph in the place of wider ones.
func (w *boundWalk) capped(out *Bounds) {
	if w.flow.Anywhere {
		return
	}
	var total cost
	for v, runs := range w.arrivals() {
		if runs == 0 {
			continue
		}
		total = total.plus(w.dearestVisit(v).times(runs))
	}
	shape := w.dearestFrom()
	for metric, r := range out.by() {
		total[metric] = min(total[metric], shape[metric])
		if total[metric] < r.Max {
			r.Max, r.MaxPath, r.Limit = total[metric], nil, ""
		}
	}
}

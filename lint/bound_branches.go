// Bounds of graphs with branches, by the shape of the graph alone.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// atLeast bounds a graph with branches from below: by the shortest path of a token, and by
// the nodes that every run has run. It returns false when no run completes.
func (w *boundWalk) atLeast(out *Bounds) bool {
	steps := graphalg.Distances(w.flow.Digraph.Next, w.flow.Digraph.Len(), w.f.Start())
	shortest := steps[w.f.End]
	note := func(v int) {
		if far := steps[v]; far >= 0 && (shortest < 0 || far < shortest) {
			shortest = far
		}
	}
	for v, groups := range w.flow.Groups {
		if w.mayDrop(v) {
			note(v)
		}
		for i := range groups { // a join goes on although all branches have failed
			if g := &groups[i]; len(g.Targets) > 1 && controlflow.FailurePolicy(w.f.graph, v) == "wait_all" && w.f.meetsLost(v, g) >= 0 {
				note(slices.MinFunc(g.Targets, func(a, b int) int { return steps[a] - steps[b] }))
			}
		}
	}
	if w.flow.Anywhere {
		shortest = 1
	}
	_, least := w.sure()
	out.Steps.Min, out.LLMCalls.Min = max(float64(shortest), least[inSteps]), least[inCalls]
	return shortest >= 0
}

// mayDrop reports whether a branch may end at a node because others do not get there.
func (w *boundWalk) mayDrop(v int) bool {
	n := w.f.graph.Nodes[v]
	return n.Join != nil && n.Join.Count > 1 || w.caught && (controlflow.Bypass(n) != "" || w.flow.Joins[v])
}

// sure returns nodes that every run which completes has run, and what they take at least: the
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

// byShape bounds a run from above if that is less: of the paths out of a node the most
// expensive, the sum of branches, and a node at which branches meet once.
func (w *boundWalk) byShape(out *Bounds) {
	if w.flow.Anywhere {
		return
	}
	s := branchCosts{w: w, meets: make([]bool, len(w.f.graph.Nodes)), behind: map[int][]int{}, known: map[int]cost{}}
	for v := range s.meets {
		if s.meets[v] = w.flow.Reached[v] && w.meets(v); s.meets[v] {
			last := w.flow.Dominators().Parent[v]
			s.behind[last] = append(s.behind[last], v)
		}
	}
	most := s.from(w.f.Start())
	for metric, r := range []*Range{&out.Steps, &out.LLMCalls, &out.Tokens, &out.CostUSD} {
		if most[metric] < r.Max {
			r.Max, r.MaxPath, r.Limit = most[metric], nil, ""
		}
	}
}

// branchCosts computes what follows the nodes of a graph with branches.
type branchCosts struct {
	w      *boundWalk
	meets  []bool        // by node: branches meet there once
	behind map[int][]int // those, by the last node that all paths to them pass
	known  map[int]cost
}

// from is the most that a node and what follows it take. A node at which branches meet is
// counted at the last node that all paths to it pass.
func (s *branchCosts) from(v int) cost {
	if v >= len(s.meets) || s.known[v] != (cost{}) {
		return s.known[v]
	}
	w := s.w
	if s.known[v] = unknownCost; w.flow.Cyclic[v] {
		s.known[v] = s.around(v)
		return s.known[v]
	}
	var most cost
	for i := range w.flow.Groups[v] {
		var all cost
		if lists(&w.flow.Groups[v][i]) {
			all = unknownCost
		}
		for _, to := range w.flow.Groups[v][i].Targets {
			all = all.plus(s.next(to))
		}
		for metric := range most {
			most[metric] = max(most[metric], all[metric])
		}
	}
	most = most.plus(w.dearestVisit(v))
	for _, m := range s.behind[v] {
		most = most.plus(s.from(m))
	}
	s.known[v] = most
	return most
}

// next is what a branch takes that goes to a node.
func (s *branchCosts) next(v int) cost {
	if v < len(s.meets) && s.meets[v] {
		return cost{}
	}
	return s.from(v)
}

// around is the most that a token takes which enters a cycle at a node: one that starts
// and joins no branches that stay on the cycle.
func (s *branchCosts) around(v int) cost {
	w := s.w
	inside := func(u int) bool { return w.flow.SCC[u] == w.flow.SCC[v] }
	var meet cost
	for u, groups := range w.flow.Groups {
		if !inside(u) {
			continue
		}
		if w.f.graph.Nodes[u].Join != nil || w.flow.Joins[u] {
			return unknownCost
		}
		for i := range groups {
			stay := 0
			for _, to := range groups[i].Targets {
				if to < len(s.meets) && inside(to) {
					stay++
				}
			}
			if stay > 1 || stay > 0 && groups[i].Subset || lists(&groups[i]) {
				return unknownCost
			}
		}
		for _, m := range s.behind[u] {
			meet = meet.plus(s.from(m))
		}
	}
	m := w.follow(v, w.valuesAt(true, inside), inside, s.next)
	if m == nil {
		return unknownCost
	}
	order, acyclic := m.order()
	if !acyclic {
		return unknownCost
	}
	for metric := range meet {
		total, _ := m.dearest(metric, order)
		meet[metric] += total
	}
	return meet
}

// lists reports whether a group begins as many branches as a list says.
func lists(g *controlflow.Group) bool { return g.Kind == controlflow.ByGoto && g.Subset }

// meets reports whether a node on no cycle runs once for all branches that get to it.
func (w *boundWalk) meets(v int) bool {
	if w.flow.Cyclic[v] || w.rejoins(v) {
		return false
	}
	if join := w.f.graph.Nodes[v].Join; join != nil {
		return join.Wait == "all" && !w.crosses(v)
	}
	tree := w.flow.Dominators()
	for fork := tree.Parent[v]; fork >= 0 && w.flow.Joins[v]; fork = tree.Parent[fork] {
		if groups := w.flow.Groups[fork]; len(groups) == 1 && groups[0].Join == v {
			return true
		}
	}
	return false
}

// rejoins reports whether a cycle may start branches to a join again.
func (w *boundWalk) rejoins(join int) bool {
	reaches := w.flow.Reverse.Reach(join)
	for v, groups := range w.flow.Groups {
		if reaches[v] && w.flow.Cyclic[v] && controlflow.Fans(groups) {
			return true
		}
	}
	return false
}

// crosses reports whether other joins lie between a join and the last node before it that
// all paths pass: branches that met there no longer wait for those that did not.
func (w *boundWalk) crosses(join int) bool {
	tree, before := w.flow.Dominators(), w.flow.Reverse.Reach(join)
	top := tree.Parent[join]
	return slices.ContainsFunc(w.f.graph.Nodes, func(n *spec.Node) bool {
		v := n.Index
		return v != join && v != top && before[v] && tree.Covers(top, v) && (n.Join != nil || w.flow.Joins[v])
	})
}

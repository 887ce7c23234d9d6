// Bounds of graphs with branches, from the shape of the graph.

package bound

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// boundBelow sets the lower bounds: the shortest path of a token, or the nodes that every
// run visits. It returns false when no run completes.
func (w *walk) boundBelow(out *Bounds) bool {
	steps := graphalg.Distances(w.Digraph.Next, w.Digraph.Len(), w.Start())
	shortest := steps[w.End]
	note := func(v int) {
		if far := steps[v]; far >= 0 && (shortest < 0 || far < shortest) {
			shortest = far
		}
	}
	for v, groups := range w.Groups {
		n := w.Source.Nodes[v]
		if n.Join != nil && n.Join.Count > 1 || w.Catches && (controlflow.Bypass(n) != "" || w.Joins[v]) {
			note(v) // a branch may end here because others do not arrive
		}
		for i := range groups { // a join may run although all branches have failed
			if g := &groups[i]; len(g.Targets) > 1 && controlflow.FailurePolicy(w.Source, v) == "wait_all" {
				note(slices.MinFunc(g.Targets, func(a, b int) int { return steps[a] - steps[b] }))
			}
		}
	}
	if w.Anywhere {
		shortest = 1
	}
	least := w.leastOfEveryRun()
	out.Steps.Min, out.LLMCalls.Min = max(float64(shortest), least[inSteps]), least[inCalls]
	return shortest >= 0
}

// leastOfEveryRun returns the least that the nodes take that every completed run visits.
// These are the start, and the targets that all groups of such a node share.
func (w *walk) leastOfEveryRun() (least cost) {
	if w.Anywhere {
		return cost{}
	}
	nodes := []int{w.Start()}
	cut := w.Catches || controlflow.Tolerates(w.Source) ||
		slices.ContainsFunc(w.Source.Nodes, func(n *spec.Node) bool { return n.Join != nil && n.Join.Wait != "all" })
	for i := 0; i < len(nodes); i++ {
		groups := w.Groups[nodes[i]]
		if w.Has(nodes[i], controlflow.OnFailure) {
			least = least.plus(cost{inSteps: 1})
		} else {
			least = least.plus(w.costs[nodes[i]].least)
		}
		if cut || len(groups) == 0 || groups[0].Subset {
			continue
		}
		for _, to := range groups[0].Targets {
			missing := func(g controlflow.Group) bool { return g.Subset || !slices.Contains(g.Targets, to) }
			if to < w.End && !slices.Contains(nodes, to) && !slices.ContainsFunc(groups, missing) {
				nodes = append(nodes, to)
			}
		}
	}
	return least
}

// boundByShape lowers upper bounds to the most expensive of the paths out of the start,
// where branches add up and a node at which they meet counts once.
func (w *walk) boundByShape(out *Bounds) {
	if w.Anywhere {
		return
	}
	s := branchCosts{walk: w, meets: make([]bool, w.End), behind: map[int][]int{}, known: map[int]cost{}}
	for v := range s.meets {
		if s.meets[v] = w.Reached[v] && w.meetsOnce(v); s.meets[v] {
			last := w.Dominators().Parent[v]
			s.behind[last] = append(s.behind[last], v)
		}
	}
	most := s.costFrom(w.Start())
	for metric, r := range []*Range{&out.Steps, &out.LLMCalls, &out.Tokens, &out.CostUSD} {
		if most[metric] < r.Max {
			r.Max, r.MaxPath, r.Limit = most[metric], nil, ""
		}
	}
}

// branchCosts computes what follows the nodes of a graph with branches.
type branchCosts struct {
	*walk
	meets  []bool        // by node: branches meet there once
	behind map[int][]int // these, by their dominators, where they count
	known  map[int]cost
}

// costFrom returns the most that a node takes, with all that follows it.
func (s *branchCosts) costFrom(v int) cost {
	if v >= s.End || s.known[v] != (cost{}) {
		return s.known[v]
	}
	if s.known[v] = unbounded; s.Cyclic[v] {
		s.known[v] = s.costOfCycle(v)
		return s.known[v]
	}
	var most cost
	for i := range s.Groups[v] {
		var all cost
		if isList(&s.Groups[v][i]) {
			all = unbounded
		}
		for _, to := range s.Groups[v][i].Targets {
			all = all.plus(s.costOfBranch(to))
		}
		most = most.max(all)
	}
	most = most.plus(s.mostOfVisit(v))
	for _, m := range s.behind[v] {
		most = most.plus(s.costFrom(m))
	}
	s.known[v] = most
	return most
}

// costOfBranch returns the most that a branch takes from a node on.
func (s *branchCosts) costOfBranch(v int) cost {
	if v < s.End && s.meets[v] {
		return cost{}
	}
	return s.costFrom(v)
}

// costOfCycle returns the most that a token takes from a node on a cycle, if no branches start
// or join there that stay on the cycle.
func (s *branchCosts) costOfCycle(v int) cost {
	inside := func(u int) bool { return u < s.End && s.SCC[u] == s.SCC[v] }
	var most cost
	for u, groups := range s.Groups {
		if !inside(u) {
			continue
		}
		if s.Source.Nodes[u].Join != nil || s.Joins[u] {
			return unbounded
		}
		for i := range groups {
			stay := 0
			for _, to := range groups[i].Targets {
				if inside(to) {
					stay++
				}
			}
			if stay > 1 || stay > 0 && groups[i].Subset || isList(&groups[i]) {
				return unbounded
			}
		}
		for _, m := range s.behind[u] {
			most = most.plus(s.costFrom(m))
		}
	}
	m := s.follow(v, s.initialValues(true, inside), inside, s.costOfBranch)
	if m == nil {
		return unbounded
	}
	for metric := range most {
		total, _, cut := m.findMostExpensive(metric, s.Source.Limits.MaxSteps)
		if cut {
			return unbounded
		}
		most[metric] += total
	}
	return most
}

// isList reports whether a group begins as many branches as a list has labels.
func isList(g *controlflow.Group) bool { return g.Kind == controlflow.ByGoto && g.Subset }

// meetsOnce reports whether a node runs once for all branches that reach it.
func (w *walk) meetsOnce(v int) bool {
	if w.Cyclic[v] {
		return false
	}
	tree, before := w.Dominators(), w.Reverse.Reach(v)
	for u, groups := range w.Groups { // a cycle may start the branches again
		if before[u] && w.Cyclic[u] && controlflow.Fans(groups) {
			return false
		}
	}
	top := tree.Parent[v]
	if join := w.Source.Nodes[v].Join; join != nil {
		// Branches that have met at another join no longer wait for the rest.
		return join.Wait == "all" && !slices.ContainsFunc(w.Source.Nodes, func(n *spec.Node) bool {
			u := n.Index
			return u != v && u != top && before[u] && tree.Covers(top, u) && (n.Join != nil || w.Joins[u])
		})
	}
	for fork := top; fork >= 0 && w.Joins[v]; fork = tree.Parent[fork] {
		if groups := w.Groups[fork]; len(groups) == 1 && groups[0].Join == v {
			return true
		}
	}
	return false
}

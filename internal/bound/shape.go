// Bounds of graphs with branches, from the shape of the graph.

package bound

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// boundBelow sets the lower bounds to the shortest path, or to the nodes that every run visits. It
// returns false if no run completes.
func (w *walk) boundBelow(out *Bounds) bool {
	steps := graphalg.Distances(w.Digraph.Next, w.Start())
	shortest, completes := steps[w.End]
	note := func(v int) {
		if far, reached := steps[v]; reached && (!completes || far < shortest) {
			shortest, completes = far, true
		}
	}
	for v, groups := range w.Groups {
		n := w.Source.Nodes[v]
		if n.Join != nil && n.Join.Count > 1 || w.Catches && (controlflow.Bypass(n) != "" || w.Joins[v]) {
			note(v) // a run may end here because other branches do not arrive
		}
		for i := range groups { // a join may run although all branches have failed
			if g := &groups[i]; len(g.Targets) > 1 && controlflow.ParallelOf(w.Source, v).OnFailure == "wait_all" {
				note(slices.MinFunc(g.Targets, func(a, b int) int { return steps[a] - steps[b] }))
			}
		}
	}
	if w.Anywhere {
		shortest, completes = 1, true
	}
	least := w.boundEveryRun()
	out.Steps.Min, out.LLMCalls.Min = max(float64(shortest), least[inSteps]), least[inCalls]
	return completes
}

// boundEveryRun returns the lowest cost of the nodes that every completed run visits: the start,
// and the targets that all groups of such a node share.
func (w *walk) boundEveryRun() (least cost) {
	if w.Anywhere {
		return cost{}
	}
	nodes := []int{w.Start()}
	cut := w.Catches || controlflow.ToleratesFailures(w.Source) ||
		slices.ContainsFunc(w.Source.Nodes, func(n *spec.Node) bool { return n.Join != nil && n.Join.Wait != "all" })
	for i := 0; i < len(nodes); i++ {
		groups := w.Groups[nodes[i]]
		if w.HasGroup(nodes[i], controlflow.OnFailure) {
			least = least.add(cost{inSteps: 1})
		} else {
			least = least.add(w.costs[nodes[i]].least)
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

// boundByShape lowers the upper bounds to the most expensive way through the graph. The costs of
// parallel branches are added, and a node that joins them counts once.
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
	most := s.boundFrom(w.Start())
	for metric, r := range []*Range{&out.Steps, &out.LLMCalls, &out.Tokens, &out.CostUSD} {
		if most[metric] < r.Max {
			r.Max, r.MaxPath, r.Limit = most[metric], nil, ""
		}
	}
}

// branchCosts bounds the rest of a run from each node of a graph with branches.
type branchCosts struct {
	*walk
	meets  []bool        // by node: it runs once for all branches
	behind map[int][]int // nodes that meet, by their dominator, where they count
	known  map[int]cost
}

// boundFrom returns the highest cost of a node and all that follows it.
func (s *branchCosts) boundFrom(v int) cost {
	if v >= s.End || s.known[v] != (cost{}) {
		return s.known[v]
	}
	if s.known[v] = unbounded; s.Cyclic[v] {
		s.known[v] = s.boundCycle(v)
		return s.known[v]
	}
	var most cost
	for i := range s.Groups[v] {
		var all cost
		if fansByList(&s.Groups[v][i]) {
			all = unbounded
		}
		for _, to := range s.Groups[v][i].Targets {
			all = all.add(s.boundBranch(to))
		}
		most = most.max(all)
	}
	most = most.add(s.boundVisit(v))
	for _, m := range s.behind[v] {
		most = most.add(s.boundFrom(m))
	}
	s.known[v] = most
	return most
}

// boundBranch returns the highest cost of a branch that starts at a node.
func (s *branchCosts) boundBranch(v int) cost {
	if v < s.End && s.meets[v] {
		return cost{}
	}
	return s.boundFrom(v)
}

// boundCycle returns the highest cost of a branch that enters a cycle, unbounded if it forks or joins.
func (s *branchCosts) boundCycle(v int) cost {
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
			if stay > 1 || stay > 0 && groups[i].Subset || fansByList(&groups[i]) {
				return unbounded
			}
		}
		for _, m := range s.behind[u] {
			most = most.add(s.boundFrom(m))
		}
	}
	m := s.followPaths(v, s.initialValues(true, inside), inside, s.boundBranch)
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

// fansByList reports whether a group starts a branch for each label of a list.
func fansByList(g *controlflow.Group) bool { return g.Kind == controlflow.ByGoto && g.Subset }

// meetsOnce reports whether a node runs once for all branches that reach it.
func (w *walk) meetsOnce(v int) bool {
	if w.Cyclic[v] {
		return false
	}
	tree, before := w.Dominators(), w.Digraph.Reverse().Reach(v)
	for u, groups := range w.Groups { // it may run again with the next branches
		if before[u] && w.Cyclic[u] && controlflow.CanFanOut(groups) {
			return false
		}
	}
	top := tree.Parent[v]
	if join := w.Source.Nodes[v].Join; join != nil {
		// Branches that have met at another join no longer wait for the rest.
		return join.Wait == "all" && !slices.ContainsFunc(w.Source.Nodes, func(n *spec.Node) bool {
			u := n.Index
			return u != v && u != top && before[u] && tree.Dominates(top, u) && (n.Join != nil || w.Joins[u])
		})
	}
	for fork := top; fork >= 0 && w.Joins[v]; fork = tree.Parent[fork] {
		if groups := w.Groups[fork]; len(groups) == 1 && groups[0].Join == v {
			return true
		}
	}
	return false
}

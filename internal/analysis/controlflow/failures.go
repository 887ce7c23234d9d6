// What failures lead to where branches start and meet (GraphSpec §7).

package controlflow

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// Bypass returns what a join of all branches does about one that left by a failure edge for
// good: drop, continue or fail. It is "" for another node.
func Bypass(n *spec.Node) string {
	if n.Join == nil || n.Join.Wait != "all" {
		return ""
	}
	if how := n.Join.OnBypass.Value; how != "" {
		return how
	}
	return "drop"
}

// Tolerates reports whether a run may go on although a branch of some fan-out has failed.
func Tolerates(g *spec.Graph) bool {
	tolerant := func(how string) bool { return how != "" && how != "fail_all" }
	return tolerant(g.Parallel.OnFailure) ||
		slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Parallel != nil && tolerant(n.Parallel.OnFailure) })
}

// JoinsBy returns how the branches of a node's fan-out join: explicit or auto.
func JoinsBy(g *spec.Graph, node int) string {
	if own := g.Nodes[node].Parallel; own != nil && own.Join != "" {
		return own.Join
	}
	return g.Parallel.Join
}

// implicitJoins finds where branches may join without a declaration, and by group where
// they surely do.
func (w *Graph) implicitJoins() {
	var any []int // targets of groups of which any subset may fire
	for v, g := range w.AllGroups() {
		g.Join = -1
		switch {
		case JoinsBy(w.Source, v) != "auto":
		case g.Subset:
			any = append(any, g.Targets...)
		case len(g.Targets) > 1 && !slices.Contains(g.Targets, v):
			g.Join = w.firstCommon(v, g.Targets)
		}
	}
	w.Joins = w.NoFailures.Reach(any...)
	for v, g := range w.AllGroups() {
		if g.Join < 0 || w.Source.Nodes[g.Join].Join != nil {
			g.Join = -1
			continue
		}
		w.Joins[g.Join] = true
		if w.joinsBefore(v, g) { // it takes precedence
			g.Join = -1
		}
	}
}

// joinsBefore reports whether branches may reach a declared join before their implicit one.
func (w *Graph) joinsBefore(fork int, g *Group) bool {
	seen := map[int]bool{g.Join: true, fork: true}
	for todo := slices.Clone(g.Targets); len(todo) > 0; todo = todo[1:] {
		v := todo[0]
		if seen[v] || v >= w.End {
			continue
		}
		if seen[v] = true; w.Source.Nodes[v].Join != nil {
			return true
		}
		todo = append(todo, w.Digraph.Next(v)...)
	}
	return false
}

// firstCommon returns the first node that all branches of a node can reach without failures,
// or -1: the one that the last of them reaches first. Of two as far away it takes one that
// declares a join.
func (w *Graph) firstCommon(fork int, targets []int) int {
	var fronts [][]int // of each branch: the vertices as far away as the step
	for _, first := range targets {
		if first != w.End {
			fronts = append(fronts, []int{first})
		}
	}
	seen, reached := map[[2]int]bool{}, map[int]int{} // by branch and vertex, and by how many branches
	for going := len(fronts) > 1; going; {
		going = false
		var met []int
		for b, front := range fronts {
			fronts[b] = nil
			for _, v := range front {
				if v == fork || seen[[2]int{b, v}] {
					continue
				}
				seen[[2]int{b, v}], going = true, true
				if reached[v]++; reached[v] == len(fronts) && v < len(w.Source.Nodes) {
					met = append(met, v)
				}
				fronts[b] = append(fronts[b], w.NoFailures.Next(v)...)
			}
		}
		if len(met) > 0 {
			slices.Sort(met)
			declares := func(v int) bool { return w.Source.Nodes[v].Join != nil }
			return met[max(0, slices.IndexFunc(met, declares))]
		}
	}
	return -1
}

// FailurePolicy returns what a failed branch does to the fan-out of a node.
func FailurePolicy(g *spec.Graph, node int) string {
	if own := g.Nodes[node].Parallel; own != nil && own.OnFailure != "" {
		return own.OnFailure
	}
	return g.Parallel.OnFailure
}

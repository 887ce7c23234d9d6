// Joins that a failure may bypass (GraphSpec §7).

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// failsBypassed reports whether a join fails when a branch bypasses it.
func (f *facts) failsBypassed(n *spec.Node) bool { return bypass(n) == "fail" }

// bypass is what a join of all does when a branch left by a failure edge and
// does not come back: drop, continue or fail; "" for another node.
func bypass(n *spec.Node) string {
	if n.Join == nil || n.Join.Wait != "all" {
		return ""
	}
	if how := n.Join.OnBypass.Value; how != "" {
		return how
	}
	return "drop"
}

// waitsForAll reports whether v runs only when no failure has bypassed it.
func (a *assignment) waitsForAll(v int) bool {
	if v >= a.f.end {
		return false
	}
	switch bypass(a.f.graph.Nodes[v]) {
	case "drop":
		return true
	case "fail": // its failure edges lead on without the branch
		return !slices.ContainsFunc(a.k.flow.groups[v], func(g group) bool { return g.kind == onFailure })
	}
	return false
}

// calm is what every path without failures passes.
func (a *assignment) calm() *postTree {
	if a.well == nil {
		a.well = &postTree{a.k.flow.calm.Reverse().Dominators(a.f.end)}
	}
	return a.well
}

func (a *assignment) policy(fork int) string { return failurePolicy(a.f.graph, fork) }

// joinsAlone reports whether branches of some fan-out meet at a join that nobody
// declared.
func (f *facts) joinsAlone() bool {
	return f.graph.Parallel.Join == "auto" || slices.ContainsFunc(f.graph.Nodes, func(n *spec.Node) bool {
		return n.Parallel != nil && n.Parallel.Join == "auto"
	})
}

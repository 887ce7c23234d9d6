// What failures lead to where branches start and meet (GraphSpec §7).

package controlflow

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// Bypass is what a join of all does when a branch left by a failure edge and
// does not come back: drop, continue or fail; "" for another node.
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

// FailurePolicy is what a failing branch of a node's fan-out does.
func FailurePolicy(g *spec.Graph, node int) string {
	if own := g.Nodes[node].Parallel; own != nil && own.OnFailure != "" {
		return own.OnFailure
	}
	return g.Parallel.OnFailure
}

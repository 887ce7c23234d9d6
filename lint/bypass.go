// Joins that a failure may bypass (GraphSpec §7).

package lint

import "github.com/graphrun/graphrun/spec"

// failsBypassed reports whether a join fails when a branch bypasses it.
func (f *facts) failsBypassed(n *spec.Node) bool { return bypass(n) == "fail" }

// bypass is what a join of all does when a branch left by a failure edge and
// does not come back: drop, continue or fail; "" for another node.
func bypass(n *spec.Node) string {
	if n.Join == nil || n.Join.Wait != "all" {
		return ""
	}
	return "drop"
}

// Made-up results of nodes.

package flowtest

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/spec"
)

// NeedsStub reports whether a case must say what a node results in.
func NeedsStub(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "wait", "fail", "graph", "human", "tool", "tools"}, n.Kind.Value)
}

// MadeUp returns an output that fits a node's schema, the keys that it writes, and the
// expressions that read it.
func MadeUp(g *spec.Graph, n *spec.Node, kinds ...spec.Kind) any {
	if w, err := explore.NewWorld(g, kinds); err == nil {
		return w.Usual(n.Index)
	}
	return explore.Sample(n.Output)
}

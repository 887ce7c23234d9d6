// Made-up results of nodes.

package flowtest

import (
	"slices"
	"sync"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/spec"
)

// NeedsStub reports whether a case must say what a node results in.
func NeedsStub(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "wait", "fail", "graph", "human", "tool", "tools"}, n.Kind.Value)
}

// MadeUp returns an output of a node that fits its schema, as a value of JSON.
func MadeUp(g *spec.Graph, n *spec.Node) any { return new(outputs).of(g, n) }

// outputs makes up what nodes yield. It keeps what it knows of a graph.
type outputs struct {
	cfg    Config
	worlds sync.Map // *explore.World by *spec.Graph
}

// world returns what is known of a graph, or nil if it has errors.
func (o *outputs) world(g *spec.Graph) *explore.World {
	known, ok := o.worlds.Load(g)
	if !ok {
		world, err := explore.NewWorld(g, specKinds(o.cfg.Kinds))
		if err != nil {
			return nil
		}
		known, _ = o.worlds.LoadOrStore(g, world)
	}
	return known.(*explore.World)
}

// of returns an output that fits a node's schema, the keys that it writes, and the
// expressions that read it.
func (o *outputs) of(g *spec.Graph, n *spec.Node) any {
	if w := o.world(g); w != nil {
		return w.Usual(n.Index)
	}
	return explore.Sample(n.Output)
}

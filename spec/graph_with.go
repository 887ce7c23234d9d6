// Graphs with other nodes in the place of some: what tests put there.

package spec

import "maps"

// WithNodes is the graph with other nodes in the place of some, by id; each takes
// over the Index of the one it replaces. The graph itself stays as it is, and what
// both have in common is shared.
func (g *Graph) WithNodes(with map[string]*Node) *Graph {
	if len(with) == 0 {
		return g
	}
	out := *g
	out.Nodes = make([]*Node, len(g.Nodes))
	out.nodes = maps.Clone(g.nodes)
	for i, n := range g.Nodes {
		if other := with[n.ID.Value]; other != nil {
			own := *other
			own.Index = n.Index
			n = &own
		}
		out.Nodes[i] = n
		out.nodes[n.ID.Value] = n
	}
	return &out
}

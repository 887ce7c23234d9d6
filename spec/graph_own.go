// What a node says itself, and the graph says for all that do not.

package spec

// RetryBlocks are the blocks that apply to a node: its own, or the graph's. Nil
// means that there is none.
func (n *Node) RetryBlocks(g *Graph) []Retry {
	if n.Retry != nil {
		return n.Retry
	}
	return g.Retry
}

// VisitLimit is how often the node may run in a run of a graph: as often as it says itself,
// else as the limits of the run do; 0 for no limit.
func (n *Node) VisitLimit(g *Graph) int {
	if n.MaxVisits > 0 {
		return n.MaxVisits
	}
	return g.Limits.MaxVisits
}

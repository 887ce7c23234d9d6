// Nodes of finally are no steps, but may call models.

package lint

// finallyCalls adds the model calls of the nodes of finally, each of which runs once.
func (w *boundWalk) finallyCalls(out *Bounds) {
	for v, n := range w.f.graph.Nodes {
		if n.Final {
			most := w.costs[v].most
			out.LLMCalls.Max += most[inCalls]
			out.Tokens.Max += most[inTokens]
			out.CostUSD.Max += most[inUSD]
		}
	}
}

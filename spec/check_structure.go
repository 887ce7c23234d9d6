// The rules about the structure of the graph: nodes without incoming or outgoing edges, and cycles.

package spec

import "github.com/graphrun/graphrun/internal/graphalg"

// checkStructure reports nodes without an entry or exit, and parts of the graph from which no end is reachable.
func (c *graphChecker) checkStructure() {
	g := c.graph
	if len(g.Nodes) == 0 || g.lacksEdges {
		return
	}
	shape := c.buildShape()
	if !shape.hasUnknownSource {
		for i, n := range g.Nodes {
			if !shape.hasExit[i] && !n.Final && !isReserved(n.ID.Value) {
				c.report("no-outgoing-edge", n.ID.Span, "%q has no way out; give it an edge, to END if the run is over there", n.ID.Value)
			}
		}
	}
	start := g.nodes[g.Start.Value]
	if start == nil || c.dangling {
		return
	}
	reached := shape.graph.Reach(append(shape.fromEnd, start.Index)...)
	for i, n := range g.Nodes {
		if !reached[i] && !n.Final {
			c.report("unreachable-node", n.ID.Span, "%q can't be reached from %q, the start", n.ID.Value, g.Start.Value)
		}
	}
	escapes := shape.graph.Reverse().Reach(shape.end)
	if !escapes[start.Index] {
		c.report("end-unreachable", g.Start.Span, "no path from %q leads to END or to a fail node", g.Start.Value)
		return
	}
	c.checkCycles(shape, reached, escapes)
}

// shape is the graph with numbered vertices: the nodes, END, and a vertex for targets that only a run knows.
type shape struct {
	graph            *graphalg.Digraph
	end              int
	fromEnd          []int  // targets of edges from END, which checkEdges reports
	hasExit          []bool // whether each node has an exit
	hasUnknownSource bool   // an edge has an unknown source, perhaps a node without an exit
}

func (c *graphChecker) buildShape() shape {
	g, n := c.graph, len(c.graph.Nodes)
	end, anywhere := n, n+1
	s := shape{end: end, hasExit: make([]bool, n)}
	from, to := make([]int, 0, len(g.Edges)+2*n), make([]int, 0, len(g.Edges)+2*n)
	add := func(v, w int) {
		from, to = append(from, v), append(to, w)
		if v < n {
			s.hasExit[v] = true
		}
	}
	for _, e := range g.Edges {
		switch from, to := c.indexOf(e.From, -1), c.indexOf(e.To, end); {
		case from >= 0:
			add(from, to) // an unknown target counts as an exit, like END
		case !isReserved(e.From.Value):
			s.hasUnknownSource = true
		case e.From.Value == END && to != end:
			s.fromEnd = append(s.fromEnd, to)
		}
	}
	for i, node := range g.Nodes {
		for _, t := range node.Ends {
			add(i, c.indexOf(t.Target, end))
		}
		switch {
		case node.Kind.Value == "fail":
			add(i, end)
		case node.Goto.IsSet() && len(node.Ends) == 0, node.hasUnknownExits:
			add(i, anywhere)
		case !s.hasExit[i]:
			from, to = append(from, i), append(to, end) // avoids more findings about the node
		}
	}
	for v := range n + 1 {
		add(anywhere, v)
	}
	s.graph = graphalg.New(n+2, from, to)
	return s
}

// checkCycles reports each innermost reachable cycle without an exit, at its first node.
func (c *graphChecker) checkCycles(s shape, reached, escapes []bool) {
	of, count := s.graph.SCC()
	leaves := make([]bool, count)
	for v := range s.graph.Len() {
		for _, w := range s.graph.Next(v) {
			if of[v] != of[w] {
				leaves[of[v]] = true
			}
		}
	}
	for i, n := range c.graph.Nodes {
		if reached[i] && !escapes[i] && !leaves[of[i]] {
			c.report("inescapable-cycle", n.ID.Span, "the cycle through %q has no way out to END or to a fail node", n.ID.Value)
			leaves[of[i]] = true // report each cycle once
		}
	}
}

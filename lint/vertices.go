// The nodes of a graph as vertices.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// vertices numbers the nodes of a graph by their index, with END behind them.
type vertices struct {
	source *spec.Graph
	end    int
	// from and to are where each edge of the source begins and ends; -1 where its
	// name is that of no vertex.
	from, to []int
}

// newVertices gives the vertices of a graph, which need not be well formed.
func newVertices(g *spec.Graph) *vertices {
	w := &vertices{source: g, end: len(g.Nodes)}
	ends := make([]int, 2*len(g.Edges))
	w.from, w.to = ends[:len(g.Edges)], ends[len(g.Edges):]
	for i, e := range g.Edges {
		w.from[i], w.to[i] = -1, w.vertex(e.To.Value)
		if n := g.Node(e.From.Value); n != nil {
			w.from[i] = n.Index
		}
	}
	return w
}

// wellFormed reports whether every end of every edge is known, so that
// conclusions from the shape of the graph hold.
func (w *vertices) wellFormed() bool {
	g := w.source
	if !g.Complete() || g.Node(g.Start.Value) == nil {
		return false
	}
	if slices.Contains(w.from, -1) || slices.Contains(w.to, -1) {
		return false
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			if w.vertex(end.Target.Value) < 0 {
				return false
			}
		}
	}
	return true
}

// vertex is that of a node or of END; -1 for another name.
func (w *vertices) vertex(name string) int {
	if n := w.source.Node(name); n != nil {
		return n.Index
	}
	if name == spec.END {
		return w.end
	}
	return -1
}

// start is the vertex of the first node of a well-formed graph.
func (w *vertices) start() int { return w.source.Node(w.source.Start.Value).Index }

// name is the name of a node, or END.
func (w *vertices) name(v int) string {
	if v == w.end {
		return spec.END
	}
	return w.source.Nodes[v].ID.Value
}

// edgesOut lists the edges that leave each node, in the order of declaration.
func (w *vertices) edgesOut() [][]int { return byVertex(w.from, w.end) }

// edgesInto lists those that lead to each vertex.
func (w *vertices) edgesInto() [][]int { return byVertex(w.to, w.end+1) }

// byVertex lists, for each of n vertices, the indexes of what is at it; -1 is no vertex.
func byVertex(at []int, n int) [][]int {
	counts := make([]int, n)
	for _, v := range at {
		if v >= 0 {
			counts[v]++
		}
	}
	lists, room := make([][]int, n), make([]int, len(at))
	for v, count := range counts {
		lists[v], room = room[:0:count], room[count:]
	}
	for i, v := range at {
		if v >= 0 {
			lists[v] = append(lists[v], i)
		}
	}
	return lists
}

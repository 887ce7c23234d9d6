// The nodes of a graph as vertices.

package controlflow

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// Vertices numbers the nodes of a graph by their index, with END behind them.
type Vertices struct {
	Source *spec.Graph
	End    int
	// From and To hold the vertices of each edge, or -1 for an unknown name.
	From, To []int
}

// NewVertices numbers the nodes of a graph, which need not be well formed.
func NewVertices(g *spec.Graph) *Vertices {
	w := &Vertices{Source: g, End: len(g.Nodes)}
	ends := make([]int, 2*len(g.Edges))
	w.From, w.To = ends[:len(g.Edges)], ends[len(g.Edges):]
	for i, e := range g.Edges {
		w.From[i], w.To[i] = -1, w.Vertex(e.To.Value)
		if n := g.Node(e.From.Value); n != nil {
			w.From[i] = n.Index
		}
	}
	return w
}

// WellFormed reports whether every end of every edge is known, so that
// conclusions from the shape of the graph hold.
func (w *Vertices) WellFormed() bool {
	g := w.Source
	if !g.Complete() || g.Node(g.Start.Value) == nil {
		return false
	}
	if slices.Contains(w.From, -1) || slices.Contains(w.To, -1) {
		return false
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			if w.Vertex(end.Target.Value) < 0 {
				return false
			}
		}
	}
	return true
}

// Vertex returns the vertex of a node or of END, or -1 for another name.
func (w *Vertices) Vertex(name string) int {
	if n := w.Source.Node(name); n != nil {
		return n.Index
	}
	if name == spec.END {
		return w.End
	}
	return -1
}

// Start returns the vertex of the first node of a well-formed graph.
func (w *Vertices) Start() int { return w.Source.Node(w.Source.Start.Value).Index }

// Name returns the name of a node, or END.
func (w *Vertices) Name(v int) string {
	if v == w.End {
		return spec.END
	}
	return w.Source.Nodes[v].ID.Value
}

// EdgesOut returns the edges that leave each node, in the order of declaration.
func (w *Vertices) EdgesOut() [][]int { return byVertex(w.From, w.End) }

// EdgesInto returns the edges that lead to each vertex.
func (w *Vertices) EdgesInto() [][]int { return byVertex(w.To, w.End+1) }

// byVertex returns, for each of n vertices, the positions in a list that hold it.
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

// Which model calls of a run are whose: what tells whether a run that was tried takes as
// many as a bound says.

package lint

import (
	"math"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// Calls are the fewest and the most model calls of an execution of a node that succeeds,
// or, if decision is set, of the choice among the edges behind it. A node with each counts
// for each of its elements, and one in a subgraph is named by its path, as outer/inner;
// outer itself makes none. The most is +Inf where nothing is known.
func (b *Bounds) Calls(path string, decision bool) (least, most float64) {
	name, rest, inside := strings.Cut(path, "/")
	n := b.Graph.Node(name)
	switch {
	case n == nil, inside && b.Subgraphs[name] == nil:
		return 0, math.Inf(1)
	case inside:
		return b.Subgraphs[name].Calls(rest, decision)
	case !decision && n.Kind.Value == "graph":
		return 0, 0
	}
	w := b.walk
	var s span
	if decision {
		s = w.decideCost(w.candidates(n.Index))
	} else if s = w.elementCost(n); n.Cache != nil || b.Graph.Cache != nil {
		s.least = cost{}
	}
	return s.least[inCalls], s.most[inCalls]
}

// candidates is how many edges of a node are chosen from.
func (w *boundWalk) candidates(v int) int {
	n := 0
	for _, g := range w.flow.Groups[v] {
		if g.Kind == controlflow.ByDecision {
			n++
		}
	}
	return n
}

// subgraphBounds are the bounds of the graphs that nodes run, as far as they are known.
func (w *boundWalk) subgraphBounds() map[string]*Bounds {
	out := map[string]*Bounds{}
	for _, n := range w.f.graph.Nodes {
		if n.Kind.Value != "graph" {
			continue
		}
		if b := w.child(n); b != nil {
			out[n.ID.Value] = b
		}
	}
	return out
}

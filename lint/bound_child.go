// What the runs of graphs in a graph take.

package lint

import (
	"path"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

// family are the bounds of the graphs in a graph, and in these, by their files, or by the
// file and "#name"; nil where nothing is known.
type family map[string]*Bounds

// childCost is what the subgraph of a node takes: each attempt is another run of it.
// Without its file nothing is known.
func (w *boundWalk) childCost(n *spec.Node) span {
	b := w.child(n)
	if b == nil {
		return span{cost{inSteps: 1}, without}
	}
	attempts := 1
	if blocks := n.RetryBlocks(w.f.graph); blocks != nil {
		attempts = spec.Attempts(blocks)
	}
	most := cost{b.Steps.Max, b.LLMCalls.Max, b.Tokens.Max, b.CostUSD.Max}
	return span{cost{inSteps: b.Steps.Min, inCalls: b.LLMCalls.Min}, most.times(float64(attempts))}
}

// child are the bounds of a node's subgraph; nil when they are not known.
func (w *boundWalk) child(n *spec.Node) *Bounds {
	c := w.f.subgraphs().Load(w.f.graph, "", text(n, "graph").Value)
	if c == nil || c.Graph == nil || w.depth == 0 {
		return nil
	}
	within := boundWalk{file: w.file, depth: w.depth - 1, family: w.family}
	opts, at := w.f.opts, w.file+c.Path
	if c.File != "" {
		opts.Load = subgraph.Beside(opts.Load, c.File)
		within.file = path.Join(path.Dir(w.file), c.File)
		at = path.Join(path.Dir(w.file), c.Path)
	}
	if b, known := w.family[at]; known {
		return b
	}
	w.family[at] = nil // in itself
	if b, ok := within.bounds(c.Graph, opts); ok {
		w.family[at] = &b
	}
	return w.family[at]
}

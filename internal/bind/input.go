// The types of what edges hand to a node (GraphSpec §6, §8).

package bind

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// arrivals says which edges lead to each node, and what keeps their types from
// being known.
type arrivals struct {
	into [][]int // edges by target node
	// dynamic: some node chooses its next by goto, with an input of its own.
	dynamic bool
	// fans: several edges may lead to one node as branches, which
	// makes its input an object keyed by source.
	fans bool
}

// arrivalsOf returns the arrivals of the graph, computed once.
func (b *binder) arrivalsOf() *arrivals {
	if b.arrivals == nil {
		b.arrivals = newArrivals(b.graph)
	}
	return b.arrivals
}

func newArrivals(g *spec.Graph) *arrivals {
	a := &arrivals{into: make([][]int, len(g.Nodes))}
	type class struct {
		from      int
		condition string
		decl      int
	}
	seen := make(map[class]bool, len(g.Edges))
	for i, e := range g.Edges {
		if to := g.Node(e.To.Value); to != nil {
			a.into[to.Index] = append(a.into[to.Index], i)
		}
		from := g.Node(e.From.Value)
		if from == nil {
			continue
		}
		c := class{from.Index, e.Condition, -1}
		switch {
		case e.Condition == "always":
			c.condition = "on_success"
		case e.When.IsSet():
			c.decl = e.Decl // one declaration fires whole
		}
		a.fans = a.fans || seen[c] || from.Routing == "all"
		seen[c] = true
	}
	for _, n := range g.Nodes {
		a.dynamic = a.dynamic || n.Goto.IsSet() || n.HasEnds
	}
	return a
}

// inputNames are the types of `input` and `inputs` at a node; nothing for what
// is not known. They are worked out once.
func (b *binder) inputNames(n *spec.Node) map[string]eval.Type {
	if names, done := b.inputs[n.Index]; done {
		return names
	}
	b.inputs[n.Index] = nil // what depends on itself is not known
	names := map[string]eval.Type{}
	into := b.arrivalsOf().into[n.Index]
	sources := make(map[string]eval.Type, len(into))
	input, known := eval.Any(), false
	switch {
	case n.Final:
		input, known = eval.Object(map[string]eval.Type{
			"status": eval.String(), "reason": eval.String(), "error": errorType(), "output": eval.Any(),
		}, false), true
	case b.graph.Start.Value == n.ID.Value:
		input, known = b.runInput(), true
	}
	for _, i := range into {
		t := b.handed(i)
		from := b.graph.Edges[i].From.Value
		if have, twice := sources[from]; twice {
			sources[from] = eval.Either(have, t)
		} else {
			sources[from] = t
		}
		if known {
			t = eval.Either(input, t)
		}
		input, known = t, true
	}
	certain := len(into) < 2 || !b.arrivalsOf().fans
	if known && certain && !b.arrivalsOf().dynamic && n.Join == nil && len(n.Before) == 0 && !input.IsAny() {
		names["input"] = input
	}
	if len(into) > 0 {
		names["inputs"] = eval.Object(sources, b.arrivalsOf().dynamic)
	}
	b.inputs[n.Index] = names
	return names
}

// runInput is the type of the run's input: the state's keys.
func (b *binder) runInput() eval.Type {
	return eval.Object(b.scopes.yields.keys, !b.graph.StrictState)
}

// handed is the type of the input that an edge gives to its target: that of
// its transform, else the source's output, or its failure.
func (b *binder) handed(i int) eval.Type {
	edge := b.graph.Edges[i]
	source := b.graph.Node(edge.From.Value)
	switch {
	case edge.Transform != nil:
		if bound := b.edge(i); bound.Transform != nil {
			return bound.Transform.Type()
		}
	case source == nil, edge.Condition == "always":
	case edge.Condition == "on_failure":
		return errorType()
	default:
		return b.scopes.yields.of(source)
	}
	return eval.Any()
}

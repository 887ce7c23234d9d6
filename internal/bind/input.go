// The types of node inputs (GraphSpec §6, §8).

package bind

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// arrivals holds the edges to each node, and whether the types of inputs are known.
type arrivals struct {
	into    [][]int // edges by target node
	dynamic bool    // a goto may lead to any node, with any input
	mayMeet bool    // branches may meet at a node, whose input is then an object of inputs
}

func newArrivals(g *spec.Graph) arrivals {
	a := arrivals{into: make([][]int, len(g.Nodes))}
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
			c.decl = e.Decl // all edges of a declaration fire together
		}
		a.mayMeet = a.mayMeet || seen[c] || from.Routing == "all"
		seen[c] = true
	}
	for _, n := range g.Nodes {
		a.dynamic = a.dynamic || n.Goto.IsSet() || n.HasEnds
	}
	return a
}

// inputTypes returns the known types of `input` and `inputs` at a node.
func (b *binder) inputTypes(n *spec.Node) map[string]eval.Type {
	if names, done := b.inputs[n.Index]; done {
		return names
	}
	b.inputs[n.Index] = nil // a type that depends on itself is unknown
	names := map[string]eval.Type{}
	into := b.arrivals.into[n.Index]
	sources := make(map[string]eval.Type, len(into))
	input, known := eval.Any(), false
	switch {
	case n.Final:
		input, known = eval.Object(map[string]eval.Type{
			"status": eval.String(), "reason": eval.String(), "error": eval.FailureType(), "output": eval.Any(),
		}, false), true
	case b.graph.Start.Value == n.ID.Value:
		input, known = eval.Object(b.scopes.outputs.keys, !b.graph.StrictState), true
	}
	for _, i := range into {
		t := b.edgeInputType(i)
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
	certain := len(into) < 2 || !b.arrivals.mayMeet
	if known && certain && !b.arrivals.dynamic && n.Join == nil && len(n.Before) == 0 && !input.IsAny() {
		names["input"] = input
	}
	if len(into) > 0 {
		names["inputs"] = eval.Object(sources, b.arrivals.dynamic)
	}
	b.inputs[n.Index] = names
	return names
}

// edgeInputType returns the type of the value that an edge passes to its target: its transform, or else
// the output or failure of its source.
func (b *binder) edgeInputType(i int) eval.Type {
	edge := b.graph.Edges[i]
	source := b.graph.Node(edge.From.Value)
	switch {
	case edge.Transform != nil:
		if bound := b.bindEdge(i); bound.Transform != nil {
			return bound.Transform.Type()
		}
	case source == nil, edge.Condition == "always":
	case edge.Condition == "on_failure":
		return eval.FailureType()
	default:
		return b.scopes.outputs.outputType(source)
	}
	return eval.Any()
}

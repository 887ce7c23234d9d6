// Taint that moves on without the state: by outputs, and by what edges hand over.

package taint

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
)

// originOfProgram returns the least trusted origin of what a program of a node reads.
func (a *Analysis) originOfProgram(node int, p *eval.Program) Origin {
	return a.Of(&dataflow.Use{Node: node, Program: p})
}

// originOfValue returns the least trusted origin of the parts of a value.
func (a *Analysis) originOfValue(node int, v *bind.Value) Origin {
	worst := FromFlow
	if _, chosen := domain.OfChoice(v.Program()); chosen {
		return FromFlow // one of its own constants
	}
	v.Reads(func(r eval.Read) { worst = max(worst, a.originOfRead(node, r)) })
	return worst
}

// originOfOutput returns who wrote the output of a node.
func (a *Analysis) originOfOutput(v int) Origin {
	if o, known := a.outputs[v]; known {
		return o
	}
	a.outputs[v] = FromFlow // a node that reads its own output adds nothing
	out := originOfKind(a.graph.Nodes[v].Kind.Value)
	switch a.graph.Nodes[v].Kind.Value {
	case "set":
		for i := range a.bound.Nodes[v].Set {
			out = max(out, a.originOfValue(v, &a.bound.Nodes[v].Set[i].Value))
		}
	case "pass":
		out = a.originOfInput(v, eval.Read{Path: []string{"input"}})
	}
	a.outputs[v] = out
	return out
}

// originOfInput returns who wrote the part that a read takes of what edges hand to a node.
func (a *Analysis) originOfInput(v int, r eval.Read) Origin {
	if a.flow == nil || a.flow.Anywhere || a.graph.Nodes[v].Before != nil {
		return FromWorld
	}
	worst := FromFlow
	if v == a.flow.Start() {
		worst = FromInput
	}
	into, chosen := a.HandedBy(v)
	if chosen {
		return FromWorld
	}
	for _, i := range into {
		e := a.graph.Edges[i]
		from := a.graph.Node(e.From.Value)
		transform := a.bound.Edges[i].Transform
		switch {
		case e.Condition == "on_failure" && transform == nil:
			return FromWorld
		case transform == nil:
			worst = max(worst, a.originOfOutput(from.Index))
		default:
			worst = max(worst, a.originOfValue(from.Index, Member(transform, r)))
		}
	}
	return worst
}

// HandedBy lists the edges that lead to a node. It is chosen if another node's goto may name
// it, with an input of its own.
func (a *Analysis) HandedBy(v int) (into []int, chosen bool) {
	if a.into == nil {
		a.into, a.chosen = a.flow.EdgesInto(), make([]bool, a.flow.End+1)
		for _, n := range a.graph.Nodes {
			for _, end := range n.Ends {
				a.chosen[a.flow.Vertex(end.Target.Value)] = true
			}
		}
	}
	return a.into[v], a.chosen[v]
}

// Member returns the part of a value that input.name reads, or else the whole.
func Member(v *bind.Value, r eval.Read) *bind.Value {
	if len(r.Path) > 1 && r.Path[0] == "input" {
		fields := v.Fields()
		for i := range fields {
			if fields[i].Name == r.Path[1] {
				return &fields[i].Value
			}
		}
	}
	return v
}

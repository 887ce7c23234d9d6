// How text moves on without the state: outputs, and what edges hand over.

package lint

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
)

// originOfProgram is the least trusted origin of what a program reads, in the
// context of a node.
func (f *facts) originOfProgram(node int, p *eval.Program) origin {
	return f.originOf(&dataflow.Use{Node: node, Edge: -1, Program: p})
}

// originOfValue is that of all the parts of a value.
func (f *facts) originOfValue(node int, v *bind.Value) origin {
	worst := ofFlow
	if _, chosen := computed(v.Program()); chosen {
		return ofFlow // one of its own constants, whoever made the choice
	}
	u := dataflow.Use{Node: node, Edge: -1}
	v.Reads(func(r eval.Read) { worst = max(worst, f.originOfRead(&u, r)) })
	return worst
}

// originOfOutput is who wrote the output of a node.
func (f *facts) originOfOutput(v int) origin {
	if o, known := f.outputOrigins[v]; known {
		return o
	}
	if f.outputOrigins == nil {
		f.outputOrigins = map[int]origin{}
	}
	f.outputOrigins[v] = ofFlow // what comes back to itself adds nothing
	out := originOfKind(f.graph.Nodes[v].Kind.Value)
	switch f.graph.Nodes[v].Kind.Value {
	case "set":
		for i := range f.bound.Nodes[v].Set {
			out = max(out, f.originOfValue(v, &f.bound.Nodes[v].Set[i].Value))
		}
	case "pass":
		out = f.originOfInput(v, eval.Read{Path: []string{"input"}})
	}
	f.outputOrigins[v] = out
	return out
}

// originOfInput is who wrote what edges hand to a node, as far as a read
// reaches into it.
func (f *facts) originOfInput(v int, r eval.Read) origin {
	if !f.shaped || f.flow().Anywhere || f.graph.Nodes[v].Before != nil {
		return ofWorld
	}
	worst := ofFlow
	if v == f.Start() {
		worst = ofInput
	}
	into, chosen := f.handedBy(v)
	if chosen {
		return ofWorld
	}
	for _, i := range into {
		e := f.graph.Edges[i]
		from := f.graph.Node(e.From.Value)
		transform := f.bound.Edges[i].Transform
		switch {
		case e.Condition == "on_failure" && transform == nil:
			return ofWorld
		case transform == nil:
			worst = max(worst, f.originOfOutput(from.Index))
		default:
			worst = max(worst, f.originOfValue(from.Index, member(transform, r)))
		}
	}
	return worst
}

// handedBy lists the edges that lead to a node; chosen says that some node may
// name it as its next, with an input of its own.
func (f *facts) handedBy(v int) (into []int, chosen bool) {
	if f.theInto == nil {
		f.theInto, f.theChosen = f.EdgesInto(), make([]bool, f.End+1)
		for _, n := range f.graph.Nodes {
			for _, end := range n.Ends {
				f.theChosen[f.Vertex(end.Target.Value)] = true
			}
		}
	}
	return f.theInto[v], f.theChosen[v]
}

// member is the part of a value that input.name reads; the whole when it has
// no such part.
func member(v *bind.Value, r eval.Read) *bind.Value {
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

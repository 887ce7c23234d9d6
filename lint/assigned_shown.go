// What conditions show to have a value: where `comment != None` has held, it has.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/solve"
)

// learn notes what the conditions of each group of a node show to be made.
func (m *made) learn() {
	a := m.Analysis
	limits := m.f.visitLimits()
	for v, groups := range m.f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				for _, thing := range m.shown(m.f.outcomes(cycleArc{v, t, i}, limits)) {
					a.Shows(v, t, i, thing)
				}
			}
		}
	}
}

// shown are the things that must be made for conditions to come out so; nil for none.
func (m *made) shown(outcomes []held) []int {
	var out []int
	for _, o := range outcomes {
		for _, thing := range m.spokenOf(o.program) {
			missing := m.without(thing)
			value, known := missing.value(o.program.Tree())
			if known && value != o.holds {
				out = append(out, thing)
			}
		}
	}
	return out
}

// spokenOf are the things that a condition may show: keys and outputs that it reads, and
// what the nodes make whose outputs it reads.
func (m *made) spokenOf(p *eval.Program) []int {
	var out []int
	for _, read := range p.Reads() {
		if key, ok := m.f.keyOf[read.Path[0]]; ok {
			if thing, asked := m.keys[key]; asked {
				out = append(out, thing)
			}
		}
		if !isOutput(read) || m.f.graph.Node(read.Path[1]) == nil {
			continue
		}
		v := m.f.graph.Node(read.Path[1]).Index
		if thing, asked := m.outputs[v]; asked {
			out = append(out, thing)
		}
		for _, w := range m.f.always(v) {
			if thing, asked := m.keys[w.Key]; asked && !m.Dropped(thing) {
				out = append(out, thing)
			}
		}
	}
	return out
}

// missing are the paths that are null while a thing is not made.
type missing map[string]bool

func (m *made) without(thing int) missing {
	out, of := missing{}, m.things[thing]
	if of.key >= 0 {
		out[m.f.graph.State[of.key].Name.Value] = true
	}
	for v, n := range m.f.graph.Nodes {
		if v == of.node || m.MadeBy(v, thing) && !m.Dropped(thing) {
			out["nodes."+n.ID.Value+".output"] = true
		}
	}
	return out
}

// value is what a part of a condition comes to; not known when that depends on
// anything else.
func (m missing) value(t *eval.Tree) (value any, known bool) {
	return solve.Partial(t, func(path []string) (any, bool) { return nil, m[strings.Join(path, ".")] })
}

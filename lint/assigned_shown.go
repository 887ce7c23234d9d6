// What conditions show to have a value: where `comment != None` has held, it has.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// learn notes what the conditions of each group of a node show to be made.
func (m *made) learn() {
	a := m.Analysis
	r := &ranking{f: m.f, limit: m.f.visitLimits()}
	for v, groups := range m.f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				for _, thing := range m.shown(r.outcomes(cycleArc{v, t, i})) {
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
	out := missing{}
	for key, t := range m.keys { //lint:ignore mapiter entries are independent
		if t == thing {
			out[m.f.graph.State[key].Name.Value] = true
		}
	}
	for v, n := range m.f.graph.Nodes {
		output, asked := m.outputs[v]
		makes := m.MadeBy(v, thing) && !m.Dropped(thing)
		if asked && output == thing || makes {
			out["nodes."+n.ID.Value+".output"] = true
		}
	}
	return out
}

// value is what a part of a condition comes to; not known when that depends on
// anything else.
func (m missing) value(t *eval.Tree) (value any, known bool) {
	switch t.Op {
	case eval.TreeConst:
		return t.Value, true
	case eval.TreePath:
		return nil, m[strings.Join(t.Path, ".")]
	case eval.TreeUnary:
		if v, ok := m.value(t.Args[0]); ok && t.Name == "not" {
			b, is := v.(bool)
			return !b, is
		}
	case eval.TreeCall:
		if t.Name == "len" && len(t.Args) == 1 {
			v, _ := m.value(t.Args[0])
			s, is := v.(string)
			return len(s), is
		}
	case eval.TreeBinary:
		return m.binary(t)
	}
	return nil, false
}

func (m missing) binary(t *eval.Tree) (value any, known bool) {
	a, knowsA := m.value(t.Args[0])
	b, knowsB := m.value(t.Args[1])
	switch t.Name {
	case "??":
		if knowsA && a == nil {
			return b, knowsB
		}
		return a, knowsA
	case "and", "or":
		decides := t.Name == "or"
		if knowsA && a == decides || knowsB && b == decides {
			return decides, true
		}
		return !decides, knowsA && knowsB && a == !decides && b == !decides
	}
	if !knowsA || !knowsB {
		return nil, false
	}
	_, intA := a.(int)
	_, intB := b.(int)
	switch t.Name {
	case "==":
		return a == b, a == nil || b == nil || intA == intB
	case "!=":
		return a != b, a == nil || b == nil || intA == intB
	case "startsWith", "contains", "endsWith":
		s, isS := a.(string)
		part, isPart := b.(string)
		if !isS || !isPart {
			return nil, false
		}
		return map[string]func(string, string) bool{"startsWith": strings.HasPrefix, "contains": strings.Contains, "endsWith": strings.HasSuffix}[t.Name](s, part), true
	case "<", "<=", ">", ">=":
		x, isX := a.(int)
		y, isY := b.(int)
		less := map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
		return less[t.Name], isX && isY
	}
	return nil, false
}

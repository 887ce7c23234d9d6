// Package taint follows texts from a model, a server or the run's input to the expressions that read
// them. Numbers, booleans and plain words of a closed set carry no taint.
package taint

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Origin says who wrote a value. The most trusted origin is first.
type Origin int

const (
	FromFlow  Origin = iota // the graph file itself
	FromInput               // the person who starts the run or answers a question
	FromWorld               // a model, a tool, a program, a server
)

func (o Origin) String() string {
	switch o {
	case FromInput:
		return "the run's input"
	case FromWorld:
		return "the output of a model, a tool or a server"
	}
	return "the graph itself"
}

// originOfKind returns who writes the outputs of a kind.
func originOfKind(kind string) Origin {
	switch kind {
	case "pass", "set", "wait", "fail":
		return FromFlow
	case "human":
		return FromInput
	}
	return FromWorld
}

// Analysis finds who wrote what the expressions of a flow read. It is for one goroutine at a time.
type Analysis struct {
	graph  *spec.Graph
	bound  *bind.Graph
	access []dataflow.Access
	flow   *controlflow.Graph // nil for a graph that is not well formed

	keys    map[string]Origin // by name, filled on first use
	outputs map[int]Origin    // by node, filled on demand
	chosen  []bool            // see HandedBy
}

// New prepares the analysis of a graph. Without control flow, all input of nodes is FromWorld.
func New(g *spec.Graph, bound *bind.Graph, access []dataflow.Access, flow *controlflow.Graph) *Analysis {
	return &Analysis{graph: g, bound: bound, access: access, flow: flow, outputs: map[int]Origin{}}
}

// Of returns the least trusted origin of what a use reads. Harmless values are FromFlow.
func (a *Analysis) Of(u *dataflow.Use) Origin {
	if IsHarmless(u.Program.Type()) || a.joinsPlain(u.Program.Tree) {
		return FromFlow
	}
	worst := FromFlow
	for _, r := range u.Program.Reads {
		worst = max(worst, a.originOfRead(u.Node, r))
	}
	return worst
}

// joinsPlain reports whether a tree joins plain words of a state key by a plain constant.
func (a *Analysis) joinsPlain(t *eval.Tree) bool {
	if t.Op != eval.TreeCall || t.Name != "join" || t.Args[0].Op != eval.TreePath || t.Args[1].Op != eval.TreeConst {
		return false
	}
	key := a.graph.Key(t.Args[0].Path[0])
	by, _ := t.Args[1].Value.(string)
	return key != nil && isPlain(by) &&
		isClosedSet(domain.Part(key.Schema, append(slices.Clone(t.Args[0].Path[1:]), "[0]")))
}

// IsFixed reports whether a use reads only plain words of a closed set, and no other text.
func (a *Analysis) IsFixed(u *dataflow.Use) bool {
	for _, r := range u.Program.Reads {
		switch {
		case a.joinsPlain(u.Program.Tree):
		case a.isSafe(r):
		case r.Path[0] == "node", r.Path[0] == "step", r.Path[0] == "visit", r.Path[0] == "visits", r.Path[0] == "index":
		case r.Path[0] == "run" && len(r.Path) > 1 && r.Path[1] != "input":
		default:
			return false
		}
	}
	return true
}

// isSafe reports whether what a read takes from a state key is harmless in any text.
func (a *Analysis) isSafe(r eval.Read) bool {
	key := a.graph.Key(r.Path[0])
	if key == nil {
		return false
	}
	of := domain.Part(key.Schema, r.Path[1:])
	return isClosedSet(of) || IsHarmless(eval.FromSchema(of))
}

// IsSanitized reports whether a program yields only computed numbers or its own constants.
func IsSanitized(p *eval.Program) bool {
	_, chosen := domain.OfChoice(p.Tree)
	return chosen || IsHarmless(p.Type()) && p.Path() == nil
}

// IsHarmless reports whether a type has no texts.
func IsHarmless(t eval.Type) bool {
	return slices.Contains([]string{"integer", "number", "boolean", "null"}, t.String())
}

func (a *Analysis) originOfRead(node int, r eval.Read) Origin {
	if a.isSafe(r) {
		return FromFlow
	} else if a.graph.Key(r.Path[0]) != nil {
		return a.originOfKeys()[r.Path[0]]
	}
	switch r.Path[0] {
	case "output":
		if node >= 0 {
			return a.originOfOutput(node)
		}
	case "nodes", "history":
		if len(r.Path) > 1 && a.graph.Node(r.Path[1]) != nil {
			if r.Path[len(r.Path)-1] == "visits" {
				return FromFlow
			}
			return a.originOfOutput(a.graph.Node(r.Path[1]).Index)
		}
		return FromWorld
	case "input", "inputs":
		if node >= 0 {
			return a.originOfInput(node, r)
		}
	case "item":
		if node >= 0 && a.bound.Nodes[node].Each != nil {
			return a.originOfProgram(node, a.bound.Nodes[node].Each)
		}
		return FromWorld
	case "branches", "last", "error":
		return FromWorld
	case "run":
		if len(r.Path) > 1 && r.Path[1] == "input" {
			return FromInput
		}
	}
	return FromFlow
}

// isClosedSet reports whether the enum or the pattern of a schema admits only plain characters.
func isClosedSet(schema map[string]any) bool {
	if pattern, ok := schema["pattern"].(string); ok && plainPattern().MatchString(pattern) {
		return true
	}
	values, ok := schema["enum"].([]any)
	return ok && !slices.ContainsFunc(values, func(v any) bool {
		s, isText := v.(string)
		return isText && !isPlain(s)
	})
}

// plainPattern matches the usual patterns that match whole texts of plain characters only.
var plainPattern = sync.OnceValue(func() *regexp.Regexp {
	const part = `(?:[\w/:@ -]|\\[dw./-]|\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d|\\[dw.]|[\w./:@ ])+-?\]|[*+?]|\{\d+(?:,\d*)?\})`
	const whole = `(?:\^|\\A)(?:` + part + `|\((?:\?:)?(?:` + part + `|\|)*\))*(?:\$|\\z)`
	return regexp.MustCompile(`^` + whole + `(?:\|` + whole + `)*$`)
})

// isPlain reports whether a text is harmless in code and addresses.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r >= 128 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@ ", r)
	})
}

// originOfKeys returns who may have written each state key: a fixed point, since writes read keys.
func (a *Analysis) originOfKeys() map[string]Origin {
	if a.keys != nil {
		return a.keys
	}
	a.keys = make(map[string]Origin, len(a.graph.State))
	for _, key := range a.graph.State {
		if key.Required || key.Default == nil {
			a.keys[key.Name.Value] = FromInput
		}
	}
	for changed := true; changed; {
		changed = false
		clear(a.outputs)
		for v, done := range a.access {
			for _, w := range done.Writes {
				from := originOfKind(a.graph.Nodes[v].Kind.Value)
				if w.Value != nil {
					from = a.originOfProgram(v, w.Value)
				}
				if from > a.keys[w.Name.Value] {
					a.keys[w.Name.Value], changed = from, true
				}
			}
		}
	}
	return a.keys
}

// originOfProgram returns the least trusted origin of what a program of a node reads.
func (a *Analysis) originOfProgram(node int, p *eval.Program) Origin {
	return a.Of(&dataflow.Use{Node: node, Program: p})
}

// originOfValue returns the least trusted origin of the parts of a value.
func (a *Analysis) originOfValue(node int, v *bind.Value) Origin {
	worst := FromFlow
	if p := v.Program; p != nil && IsSanitized(p) {
		return FromFlow
	}
	v.VisitReads(func(r eval.Read) { worst = max(worst, a.originOfRead(node, r)) })
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

// originOfInput returns who wrote what a node reads from its input.
func (a *Analysis) originOfInput(v int, r eval.Read) Origin {
	if a.flow == nil || a.flow.Anywhere || a.graph.Nodes[v].Before != nil {
		return FromWorld
	}
	worst := FromFlow
	if v == a.flow.Start() {
		worst = FromInput
	}
	into, chosen := a.EdgesInto(v)
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

// EdgesInto lists the edges that lead to a node. It is chosen if the goto of a node may name it.
func (a *Analysis) EdgesInto(v int) (into []int, chosen bool) {
	if a.chosen == nil {
		a.chosen = make([]bool, a.flow.End+1)
		for _, n := range a.graph.Nodes {
			for _, end := range n.Ends {
				a.chosen[a.flow.Vertex(end.Target.Value)] = true
			}
		}
	}
	return a.flow.Into[v], a.chosen[v]
}

// Member returns the part of a value that input.name reads, or else the whole.
func Member(v *bind.Value, r eval.Read) *bind.Value {
	if len(r.Path) > 1 && r.Path[0] == "input" {
		return cmp.Or(dataflow.FindField(v.Fields, r.Path[1]), v)
	}
	return v
}

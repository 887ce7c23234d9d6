// The types of what nodes yield, from their declaration and their kind
// (GraphSpec §4).

package bind

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// yields tells what nodes yield.
type yields struct {
	graph *spec.Graph
	// child is the type of what a subgraph yields, when its file is at hand; nil
	// when no files are.
	child func(n *spec.Node) (eval.Type, bool)
	known []yield // by node, worked out when first asked for
	// shapes holds types by shape, keys those of state keys.
	shapes map[string]eval.Type
	keys   map[string]eval.Type
}

// yield is what a node yields.
type yield struct {
	typ   eval.Type
	shape string
	done  bool
}

func newYields(g *spec.Graph, child func(n *spec.Node) (eval.Type, bool)) yields {
	y := yields{
		graph: g, child: child, known: make([]yield, len(g.Nodes)),
		shapes: map[string]eval.Type{}, keys: make(map[string]eval.Type, len(g.State)),
	}
	for _, key := range g.State {
		y.keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	return y
}

// of is the type of a node's output. Equal shapes are equal: nodes of
// one shape see the same names. A shape of the node's own is "own", and of one
// of which nothing is known "".
func (y *yields) of(n *spec.Node) (t eval.Type, shape string) {
	k := &y.known[n.Index]
	if !k.done {
		k.typ, k.shape = y.one(n)
		k.done = true
		if n.Each.IsSet() {
			k.typ = eval.List(k.typ)
			if k.shape != "own" {
				k.shape = "list of " + k.shape
			}
		}
	}
	return k.typ, k.shape
}

// one is the output of one execution, of one element of `each`.
func (y *yields) one(n *spec.Node) (t eval.Type, shape string) {
	offers := n.Field("tools") != nil
	switch kind := n.Kind.Value; {
	case n.Output != nil && kind == "llm" && offers:
		return eval.Any(), "" // the content is what the schema is about
	case n.Output != nil:
		return eval.FromSchema(n.Output), "own"
	case kind == "llm" && offers:
		return y.shaped("tool calls", toolCalls)
	case kind == "agent" && finishes(n):
		return eval.Any(), "" // what the tool is called with, or gives
	case kind == "llm", kind == "agent":
		return eval.String(), "text"
	case kind == "http":
		return y.shaped(kind, response)
	case kind == "graph":
		if y.child != nil {
			if t, ok := y.child(n); ok {
				return t, "own"
			}
		}
		return y.shaped(kind, unknownChild)
	case kind == "tools":
		return y.shaped(kind, toolResults)
	case kind == "human":
		return answer(n)
	case kind == "exec":
		return printed(n)
	case kind == "set":
		return y.assigned(n)
	}
	return eval.Any(), ""
}

// shaped is a type that many nodes share.
func (y *yields) shaped(shape string, make func() eval.Type) (eval.Type, string) {
	t, known := y.shapes[shape]
	if !known {
		t = make()
		y.shapes[shape] = t
	}
	return t, shape
}

// finishes reports whether an agent's loop may end with a tool.
func finishes(n *spec.Node) bool {
	loop := n.Field("loop")
	pattern := loop.Get("pattern")
	return loop.Get("finish_tool") != nil || pattern != nil && pattern.Text.Value == "finish_tool"
}

func toolCalls() eval.Type {
	call := eval.Object(map[string]eval.Type{"id": eval.String(), "name": eval.String(), "args": eval.Any()}, true)
	return eval.Object(map[string]eval.Type{"content": eval.Any(), "tool_calls": eval.List(call)}, true)
}

func toolResults() eval.Type {
	return eval.List(eval.Object(map[string]eval.Type{
		"id": eval.String(), "name": eval.String(), "output": eval.Any(), "is_error": eval.Bool(),
	}, false))
}

func response() eval.Type {
	return eval.Object(map[string]eval.Type{
		"status": eval.Int(), "headers": eval.Object(nil, true), "body": eval.Any(),
	}, false)
}

// ChildResult is the type of what a node of kind graph yields, given those of
// the child's output and state.
func ChildResult(output, state eval.Type) eval.Type {
	return eval.Object(map[string]eval.Type{
		"output": output, "state": state, "status": eval.String(), "quality": eval.String(),
	}, false)
}

func unknownChild() eval.Type { return ChildResult(eval.Any(), eval.Object(nil, true)) }

// answer is what a person may answer, or what counts for an absent one.
func answer(n *spec.Node) (eval.Type, string) {
	choices, schema := n.Field("choices"), n.Field("schema")
	switch {
	case choices != nil && choices.Kind == spec.List:
		values, _ := choices.Data().([]any)
		if d := n.Field("default"); d != nil {
			values = append(values[:len(values):len(values)], d.Data())
		}
		return eval.FromSchema(map[string]any{"enum": values}), "own"
	case choices != nil || n.Field("default") != nil:
		return eval.Any(), ""
	case schema == nil:
		return eval.String(), "text"
	}
	doc, _ := schema.Data().(map[string]any)
	return eval.FromSchema(doc), "own"
}

func printed(n *spec.Node) (eval.Type, string) {
	parse := n.Field("parse")
	switch {
	case parse == nil:
	case parse.Text.Value == "text":
		return eval.String(), "text"
	case parse.Text.Value == "lines":
		return eval.List(eval.String()), "lines"
	}
	return eval.Any(), ""
}

// assigned is the object that a set node yields.
func (y *yields) assigned(n *spec.Node) (eval.Type, string) {
	set := n.Field("set")
	if set == nil || set.Kind != spec.Map {
		return eval.Any(), ""
	}
	shape := "set"
	for i := range set.Fields {
		shape += " " + set.Fields[i].Key.Value
	}
	if t, known := y.shapes[shape]; known {
		return t, shape
	}
	fields := make(map[string]eval.Type, len(set.Fields))
	for i := range set.Fields {
		name := set.Fields[i].Key.Value
		fields[name] = eval.Any()
		if key := y.graph.Key(name); key != nil && (!key.Reducer.IsSet() || key.Reducer.Value == "replace") {
			fields[name] = y.keys[name]
		}
	}
	y.shapes[shape] = eval.Object(fields, false)
	return y.shapes[shape], shape
}

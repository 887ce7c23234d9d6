// The types of node outputs (GraphSpec §4), and programs whose output must be text.

package bind

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// outputs derives the types of node outputs.
type outputs struct {
	graph *spec.Graph
	child func(n *spec.Node) (eval.Type, bool) // see Bind
	keys  map[string]eval.Type                 // the types of state keys
}

func newOutputs(g *spec.Graph, child func(n *spec.Node) (eval.Type, bool)) outputs {
	o := outputs{graph: g, child: child, keys: make(map[string]eval.Type, len(g.State))}
	for _, key := range g.State {
		o.keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	return o
}

// OutputType returns the type of a node's output, or any if it is unknown. See Bind for child.
func OutputType(n *spec.Node, g *spec.Graph, child func(n *spec.Node) (eval.Type, bool)) eval.Type {
	o := newOutputs(g, child)
	return o.outputType(n)
}

// outputType returns the type of a node's output, or any if it is unknown.
func (o *outputs) outputType(n *spec.Node) eval.Type {
	t := o.executionType(n)
	if !n.Each.IsSet() {
		return t
	}
	how := o.graph.Parallel.OnFailure
	if n.Parallel != nil {
		how = cmp.Or(n.Parallel.OnFailure, how)
	}
	if how == "wait_all" {
		t = addErrorField(t, n.Kind.Value != "graph")
	}
	return eval.List(t)
}

// addErrorField returns the type of an element's output, which is {error: ...} if its execution failed.
func addErrorField(t eval.Type, open bool) eval.Type {
	if !t.IsObject() {
		return eval.Any()
	}
	fields := map[string]eval.Type{}
	for _, name := range t.Fields() {
		fields[name], _, _ = t.Field(name)
	}
	fields["error"] = eval.Any()
	return eval.Object(fields, open)
}

// executionType returns the type of a node's output for one element of `each`.
func (o *outputs) executionType(n *spec.Node) eval.Type {
	switch kind := n.Kind.Value; {
	case declaresOutput(n):
		return eval.FromSchema(n.Output)
	case n.Output != nil:
		return eval.Any()
	case kind == "llm" && n.Field("tools") != nil:
		return toolCalls
	case kind == "agent" && hasFinishTool(n):
		return eval.Any() // the arguments or the result of the tool
	case kind == "llm", kind == "agent":
		return eval.String()
	case kind == "http":
		return response
	case kind == "graph":
		if o.child != nil {
			if t, ok := o.child(n); ok {
				return t
			}
		}
		return ChildResultType(eval.Any(), eval.Object(nil, true))
	case kind == "tools":
		return toolResults
	case kind == "human":
		return humanNodeType(n)
	case kind == "exec":
		return execNodeType(n)
	case kind == "set":
		return o.setNodeType(n)
	}
	return eval.Any()
}

// declaresOutput reports whether a node's schema describes its whole output, and not only the content
// beside tool calls.
func declaresOutput(n *spec.Node) bool {
	return n.Output != nil && (n.Kind.Value != "llm" || n.Field("tools") == nil)
}

// hasFinishTool reports whether an agent's loop may end with a tool.
func hasFinishTool(n *spec.Node) bool {
	pattern := n.Field("loop").Get("pattern")
	return n.Field("loop").Get("finish_tool") != nil || pattern != nil && pattern.Text.Value == "finish_tool"
}

var (
	toolCalls = eval.Object(map[string]eval.Type{"content": eval.Any(), "tool_calls": eval.List(eval.Object(map[string]eval.Type{
		"id": eval.String(), "name": eval.String(), "args": eval.Any(),
	}, true))}, true)
	toolResults = eval.List(eval.Object(map[string]eval.Type{
		"id": eval.String(), "name": eval.String(), "output": eval.Any(), "is_error": eval.Bool(),
	}, false))
	response = eval.Object(map[string]eval.Type{"status": eval.Int(), "headers": eval.Object(nil, true), "body": eval.Any()}, false)
)

// ChildResultType returns the output type of a node of kind graph.
func ChildResultType(output, state eval.Type) eval.Type {
	return eval.Object(map[string]eval.Type{
		"output": output, "state": state, "status": eval.String(), "quality": eval.String(),
	}, false)
}

// humanNodeType returns the type of a person's answer or its default.
func humanNodeType(n *spec.Node) eval.Type {
	choices, schema := n.Field("choices"), n.Field("schema")
	switch {
	case choices != nil && choices.Kind == spec.List:
		values, _ := choices.Data().([]any)
		if d := n.Field("default"); d != nil {
			values = append(values[:len(values):len(values)], d.Data())
		}
		return eval.FromSchema(map[string]any{"enum": values})
	case choices != nil || n.Field("default") != nil:
		return eval.Any()
	case schema == nil:
		return eval.String()
	}
	doc, _ := schema.Data().(map[string]any)
	return eval.FromSchema(doc)
}

func execNodeType(n *spec.Node) eval.Type {
	parse := n.Field("parse")
	switch {
	case parse == nil:
	case parse.Text.Value == "text":
		return eval.String()
	case parse.Text.Value == "lines":
		return eval.List(eval.String())
	}
	return eval.Any()
}

// setNodeType returns the output type of a set node, an object.
func (o *outputs) setNodeType(n *spec.Node) eval.Type {
	set := n.Field("set")
	if set == nil || set.Kind != spec.Map {
		return eval.Any()
	}
	fields := make(map[string]eval.Type, len(set.Fields))
	for i := range set.Fields {
		name := set.Fields[i].Key.Value
		fields[name] = eval.Any()
		if key := o.graph.Key(name); key != nil && (!key.Reducer.IsSet() || key.Reducer.Value == "replace") {
			fields[name] = o.keys[name]
		}
	}
	return eval.Object(fields, false)
}

// acceptsOnlyText reports whether the output schema of an exec node, the schema of its only key, or the
// expressions of its writes accept only text. If so, `parse: auto` does not convert the output.
func (b *binder) acceptsOnlyText(node *spec.Node) bool {
	var takes func(output eval.Type) bool
	switch keys := node.Writes.Keys; {
	case node.Kind.Value != "exec":
		return false
	case node.Output != nil:
		takes = eval.FromSchema(node.Output).Accepts
	case len(node.Writes.Exprs) > 0:
		takes = func(output eval.Type) bool { return b.acceptsOutput(node, output) }
	case len(keys) == 1 && b.graph.Key(keys[0].Value) != nil:
		whole := b.keyType(b.graph.Key(keys[0].Value))
		if node.Each.IsSet() { // the key gets the list of the elements' outputs
			if !whole.IsList() {
				return false
			}
			whole = whole.Elem()
		}
		takes = whole.Accepts
	default:
		return false
	}
	otherData := []eval.Type{eval.Bool(), eval.Int(), eval.Float(), eval.List(eval.Any()), eval.Object(nil, true)}
	return takes(eval.String()) && !slices.ContainsFunc(otherData, takes)
}

// acceptsOutput reports whether the writes of a node allow an output of a type.
func (b *binder) acceptsOutput(node *spec.Node, output eval.Type) bool {
	if node.Each.IsSet() {
		output = eval.List(output)
	}
	scope := b.scopes.scopeAt(afterRun).With(map[string]eval.Type{"output": output}, nil)
	for _, e := range node.Writes.Exprs {
		program, err := scope.Compile(e.Expr.Value, eval.Value)
		if err != nil {
			return false
		}
		if key := b.graph.Key(e.Name.Value); key != nil && !key.Reducer.IsSet() && !b.keyType(key).Accepts(program.Type()) {
			return false
		}
	}
	return true
}

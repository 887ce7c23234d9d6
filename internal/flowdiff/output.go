// What a run gives back: whether callers may get what they did not before.

package flowdiff

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// result is a value that callers get: its schema, or else its type.
type result struct {
	schema map[string]any
	typ    eval.Type
}

// outputTypes compares what the parts of the output may hold. A part may hold other
// values although its expression is the same: those of a state key whose schema differs.
func (c *comparison) outputTypes() {
	before, after := c.before.results(), c.after.results()
	for _, name := range keysOf(before, after) {
		was, had := before[name].(result)
		is, has := after[name].(result)
		if !had || !has {
			continue
		}
		line := c.outputLine(name)
		switch a, b := was.typ.String(), is.typ.String(); {
		case was.schema != nil && is.schema != nil:
			for _, d := range schemaChanges(was.schema, is.schema, "") {
				if d.wider {
					c.add("output", "changed", name, d.text, true, line)
				}
			}
		case a != b && !was.typ.IsAny() && !is.typ.IsAny() && !was.typ.Accepts(is.typ):
			c.add("output", "changed", name, "type "+a+" is now "+b, true, line)
		}
	}
}

// outputLine is the line of a part of the new output.
func (c *comparison) outputLine(name string) int {
	out := c.after.Graph.Output
	if out == nil {
		return c.after.lineOf(c.after.Graph.Node(name).ID.Span)
	}
	if part := out.Get(name); out.Kind == spec.Map && part != nil {
		return c.after.lineOf(part.Span)
	}
	return c.after.lineOf(out.Span)
}

// results are the parts of the output by name. Without a declared output a run gives
// back that of a node that leads to END: those which declare one, by node.
func (f *flow) results() map[string]any {
	out := map[string]any{}
	if f.Graph.Output == nil {
		for _, e := range f.Graph.Edges {
			if schema, ok := f.outputOf(e.From.Value); ok && e.To.Value == spec.END {
				out[e.From.Value] = result{schema: schema}
			}
		}
		return out
	}
	bound, found := bind.Check(f.Graph, nil, nil)
	if found.HasErrors() || bound.Output == nil {
		return out
	}
	if f.Graph.Output.Kind != spec.Map {
		out["output"] = f.result(bound.Output)
		return out
	}
	for _, field := range bound.Output.Fields() {
		out[field.Name] = f.result(&field.Value)
	}
	return out
}

func (f *flow) result(v *bind.Value) result {
	switch p := v.Program(); {
	case v.Template() != nil:
		return result{typ: v.Template().Type()}
	case p == nil:
		return result{typ: eval.Any()}
	default:
		return result{f.schemaAt(p.Path()), p.Type()}
	}
}

// schemaAt is the schema of a state key, or of a property in it; nil when a path leads
// elsewhere.
func (f *flow) schemaAt(path []any) map[string]any {
	if len(path) > 1 && path[0] == any("state") {
		path = path[1:]
	}
	var schema map[string]any
	for i, part := range path {
		name, isName := part.(string)
		switch key := f.Graph.Key(name); {
		case i == 0 && key != nil:
			schema = key.Schema
		case isName:
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[name].(map[string]any)
		default:
			schema, _ = schema["items"].(map[string]any)
		}
	}
	return schema
}

// outputOf is the schema that a node's output is declared with.
func (f *flow) outputOf(node string) (schema map[string]any, declared bool) {
	if n := f.Graph.Node(node); n != nil {
		schema, declared = dataOf(n.Written("output")).(map[string]any)
	}
	return schema, declared
}

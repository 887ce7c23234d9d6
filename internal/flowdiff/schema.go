// Changes of schemas, whether they accept fewer values, and changes of the output and its types.

package flowdiff

import (
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// schemaChange is one difference between schemas. Narrower says that the new schema may
// refuse accepted values, wider that it may accept refused ones.
type schemaChange struct {
	text            string
	narrower, wider bool
}

// compareSchemas compares schemas by keyword. Changes of unknown keywords count as narrower.
func compareSchemas(before, after map[string]any, where string) []schemaChange {
	var out []schemaChange
	for _, key := range mergeKeys(before, after) {
		old, now := lookUp(before, key), lookUp(after, key)
		oldMap, oldIsMap := old.(map[string]any)
		nowMap, nowIsMap := now.(map[string]any)
		name := key
		if where != "" {
			name = where + ": " + key
		}
		switch {
		case reflect.DeepEqual(old, now) || strings.HasPrefix(key, "x-"):
		case key == "properties":
			out = append(out, compareProperties(oldMap, nowMap, where)...)
		case key == "items" && oldIsMap && nowIsMap:
			out = append(out, compareSchemas(oldMap, nowMap, where+"[]")...)
		default:
			out = append(out, schemaChange{
				text:     describeDifference(name, old, now),
				narrower: isNarrower(key, old, now),
				wider:    key != "additionalProperties" && isNarrower(key, now, old),
			})
		}
	}
	return out
}

func compareProperties(before, after map[string]any, where string) []schemaChange {
	var out []schemaChange
	for _, name := range mergeKeys(before, after) {
		a, had := before[name].(map[string]any)
		b, has := after[name].(map[string]any)
		at := where + "." + name
		switch {
		case !has:
			out = append(out, schemaChange{at + " is no longer declared", true, true})
		case !had:
			out = append(out, schemaChange{text: at + " is declared now"})
		default:
			out = append(out, compareSchemas(a, b, at)...)
		}
	}
	return out
}

// describeDifference describes the change of a value, which may be absent.
func describeDifference(name string, old, now any) string {
	switch {
	case old == any(absent{}):
		return name + " is now " + formatData(now)
	case now == any(absent{}):
		return name + " is gone, it was " + formatData(old)
	}
	return name + " " + formatData(old) + " is now " + formatData(now)
}

func isNarrower(key string, old, now any) bool {
	added := old == any(absent{})
	if now == any(absent{}) {
		return false
	}
	switch key {
	case "title", "description", "examples", "$comment", "deprecated", "format", "default":
		return false
	case "type":
		return added || !includesTypes(old, now)
	case "enum":
		return added || !isSubset(old, now)
	case "required":
		return !isSubset(now, old)
	case "additionalProperties":
		return now != any(true)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return added || isLess(old, now)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return added || isLess(now, old)
	}
	return true
}

func isLess(v, w any) bool {
	a, _ := eval.Number(v)
	b, _ := eval.Number(w)
	return a < b
}

// includesTypes reports whether every old type is among the new ones.
func includesTypes(old, now any) bool {
	is := toList(now)
	if slices.Contains(is, any("number")) {
		is = append(is, "integer")
	}
	return isSubset(toList(old), is)
}

// toList returns a list, or a list of a single type.
func toList(types any) []any {
	if list, ok := types.([]any); ok {
		return slices.Clone(list)
	}
	return []any{types}
}

func isSubset(some, all any) bool {
	a, _ := some.([]any)
	b, _ := all.([]any)
	return !slices.ContainsFunc(a, func(v any) bool { return !containsData(b, v) })
}

func containsData(list []any, v any) bool {
	return slices.ContainsFunc(list, func(w any) bool { return reflect.DeepEqual(v, w) })
}

func (c *comparison) compareOutput() {
	before, after := c.before.Output, c.after.Output
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.addChange("output", "added", "output", "it was the output of the last node", true, after.Span)
	case after == nil:
		c.addChange("output", "removed", "output", "it is now the output of the last node", true, before.Span)
	case before.Kind == spec.Map && after.Kind == spec.Map:
		pairByName(toPointers(before.Fields), toPointers(after.Fields), func(f *spec.Field) string { return f.Key.Value }, func(old, now *spec.Field) {
			switch {
			case now == nil:
				c.addChange("output", "removed", old.Key.Value, "", true, old.Key.Span)
			case old == nil:
				c.addChange("output", "added", now.Key.Value, "", false, now.Key.Span)
			default:
				c.compareOutputValue(now.Key.Value, &old.Value, &now.Value)
			}
		})
	default:
		c.compareOutputValue("output", before, after)
	}
}

func (c *comparison) compareOutputValue(name string, old, now *spec.Value) {
	if a, b := formatData(old.Data()), formatData(now.Data()); a != b {
		c.addChange("output", "changed", name, a+" is now "+b, (old.Kind == spec.Map) != (now.Kind == spec.Map), now.Span)
	}
}

// outputType describes a part of the output: by its schema, or by its type if it has none.
type outputType struct {
	schema map[string]any
	typ    eval.Type
}

// compareOutputTypes compares the types of the output's parts, which may differ although their
// expressions are the same.
func (c *comparison) compareOutputTypes() {
	before, after := listOutputTypes(c.before), listOutputTypes(c.after)
	for _, name := range mergeKeys(before, after) {
		was, had := before[name]
		is, has := after[name]
		if !had || !has {
			continue
		}
		at := c.findOutputSpan(name)
		switch a, b := was.typ.String(), is.typ.String(); {
		case was.schema != nil && is.schema != nil:
			for _, d := range compareSchemas(was.schema, is.schema, "") {
				if d.wider {
					c.addChange("output", "changed", name, d.text, true, at)
				}
			}
		case a != b && !was.typ.IsAny() && !is.typ.IsAny() && !was.typ.Accepts(is.typ):
			c.addChange("output", "changed", name, "type "+a+" is now "+b, true, at)
		}
	}
}

// findOutputSpan returns the span of a part of the new output.
func (c *comparison) findOutputSpan(name string) spec.Span {
	out := c.after.Output
	if out == nil {
		return c.after.Node(name).ID.Span
	}
	if part := out.Get(name); out.Kind == spec.Map && part != nil {
		return part.Span
	}
	return out.Span
}

// listOutputTypes returns the parts of the output by name. Without a declared output a run returns
// the output of a node that leads to END; these are listed by node, if they declare one.
func listOutputTypes(g *spec.Graph) map[string]outputType {
	out := map[string]outputType{}
	if g.Output == nil {
		for _, e := range g.Edges {
			if n := g.Node(e.From.Value); n != nil && e.To.Value == spec.END {
				if schema, ok := n.ValueOf("output").Data().(map[string]any); ok {
					out[e.From.Value] = outputType{schema: schema}
				}
			}
		}
		return out
	}
	bound, found := bind.Bind(g, nil, nil)
	switch {
	case found.HasErrors() || bound.Output == nil:
	case g.Output.Kind != spec.Map:
		out["output"] = newOutputType(g, bound.Output)
	default:
		for _, field := range bound.Output.Fields {
			out[field.Name] = newOutputType(g, &field.Value)
		}
	}
	return out
}

func newOutputType(g *spec.Graph, v *bind.Value) outputType {
	switch p := v.Program; {
	case v.Template != nil:
		return outputType{typ: v.Template.Type()}
	case p == nil:
		return outputType{typ: eval.Any()}
	default:
		return outputType{findSchema(g, p.Path()), p.Type()}
	}
}

// findSchema returns the schema of a state key or of a member of it, or nil.
func findSchema(g *spec.Graph, path []any) map[string]any {
	if len(path) > 1 && path[0] == any("state") {
		path = path[1:]
	}
	var schema map[string]any
	for i, part := range path {
		name, isName := part.(string)
		switch key := g.Key(name); {
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

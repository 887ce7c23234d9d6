// Package domain converts types and JSON Schemas to domains of internal/solve, and describes domains.
package domain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// kinds are the kinds of domains by type; any and null have none.
var kinds = map[string]solve.Kind{"boolean": solve.Bool, "integer": solve.Int, "number": solve.Number, "string": solve.String, "any": solve.Any, "null": solve.Any}

// OfType returns the domain of a type.
func OfType(t eval.Type) solve.Domain {
	kind, known := kinds[t.String()]
	if !known {
		kind = solve.Other
	}
	return solve.Domain{Null: true, Kind: kind}
}

// OfSchema returns the domain of a part of a value that a schema describes, which may be null.
func OfSchema(doc map[string]any, name string, rest []string, typ eval.Type) solve.Domain {
	for _, part := range rest {
		doc = Subschema(doc, part)
		if !strings.HasPrefix(part, "[") {
			name += "." + part
		}
	}
	if doc == nil {
		return OfType(typ)
	}
	d := OfType(eval.FromSchema(doc))
	if values, ok := Literals(doc); ok {
		d.Values, d.Why = values, name+" is "+DescribeChoice(values)
		return d
	}
	switch doc["type"] {
	case "array":
		d.MinLen, _ = doc["minItems"].(int)
		d.MaxLen, _ = doc["maxItems"].(int)
	case "string":
		d.MinLen, _ = doc["minLength"].(int)
	}
	d.Min, d.HasMin = readBound(doc, "minimum", "exclusiveMinimum")
	d.Max, d.HasMax = readBound(doc, "maximum", "exclusiveMaximum")
	if d.Kind == solve.Int || d.Kind == solve.Number {
		d.Why = DescribeRange(name, d)
	}
	return d
}

// Subschema returns the schema of a member or an element, or nil.
func Subschema(doc map[string]any, part string) map[string]any {
	if strings.HasPrefix(part, "[") {
		items, _ := doc["items"].(map[string]any)
		return items
	}
	properties, _ := doc["properties"].(map[string]any)
	sub, _ := properties[part].(map[string]any)
	return sub
}

// Literals returns the values of an enum or const of scalars.
func Literals(doc map[string]any) ([]any, bool) {
	values, ok := doc["enum"].([]any)
	if c, has := doc["const"]; has {
		values, ok = []any{c}, true
	}
	if _, scalars := ofValues(values); !ok || !scalars {
		return nil, false
	}
	return values, true
}

// OfChoice returns the domain of an expression that is a constant, or chooses between constants.
func OfChoice(t *eval.Tree) (solve.Domain, bool) {
	values, all := Constants(t)
	d, scalars := ofValues(values)
	return d, all && scalars
}

// Constants lists the constants that an expression or nil yields or puts into a list. all reports
// whether it yields nothing else.
func Constants(t *eval.Tree) (values []any, all bool) {
	switch {
	case t == nil:
		return nil, false
	case t.Op == eval.TreeConst:
		return []any{t.Value}, true
	case t.Op != eval.TreeChoice && t.Op != eval.TreeList && t.Name != "??":
		return nil, false
	}
	all = t.Op != eval.TreeList
	for i, part := range t.Args {
		if t.Op == eval.TreeChoice && i == 0 {
			continue
		}
		more, known := Constants(part)
		values, all = append(values, more...), all && known
	}
	return values, all
}

// ofValues returns the domain of some scalars. ok is false for other values, and for an empty list.
func ofValues(values []any) (solve.Domain, bool) {
	for _, v := range values {
		switch v.(type) {
		case nil, bool, int, float64, string:
		default:
			return solve.Domain{}, false
		}
	}
	return solve.Domain{Values: values}, len(values) > 0
}

func readBound(doc map[string]any, names ...string) (float64, bool) {
	for _, name := range names {
		if n, ok := eval.Number(doc[name]); ok {
			return n, true
		}
	}
	return 0, false
}

// DescribeRange describes the bounds of a named number, or returns "".
func DescribeRange(name string, d solve.Domain) string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
	switch {
	case d.HasMin && d.HasMax && d.Min == d.Max:
		return name + " is " + number(d.Min)
	case d.HasMin && d.HasMax:
		return name + " is from " + number(d.Min) + " to " + number(d.Max)
	case d.HasMin:
		return name + " is at least " + number(d.Min)
	case d.HasMax:
		return name + " is at most " + number(d.Max)
	}
	return ""
}

// DescribeChoice says in words which scalars a value can be.
func DescribeChoice(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = Literal(v)
	}
	if len(words) == 1 {
		return "always " + words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// Literal writes a scalar as an expression does.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
	}
	return fmt.Sprint(v)
}

// AllowsNull reports whether a schema admits null.
func AllowsNull(schema map[string]any) bool {
	switch t := schema["type"].(type) {
	case string:
		return t == "null"
	case []any:
		return slices.Contains(t, any("null"))
	}
	if values, ok := schema["enum"].([]any); ok {
		return slices.Contains(values, nil)
	}
	return true
}

// Requires reports whether a schema requires a member.
func Requires(doc map[string]any, name string) bool {
	required, _ := doc["required"].([]any)
	return slices.Contains(required, any(name))
}

// OutputSchema returns the schema of a node's whole output, or nil: a model with tools declares a part.
func OutputSchema(n *spec.Node) map[string]any {
	if n.Kind.Value == "llm" && n.Field("tools") != nil {
		return nil
	}
	return n.Output
}

// Part returns the schema of the part at a path, or nil.
func Part(doc map[string]any, path []string) map[string]any {
	for _, part := range path {
		doc = Subschema(doc, part)
	}
	return doc
}

// OutputPart returns the schema that a node or its kind declares for a part of its output, or nil.
func OutputPart(n *spec.Node, path []string) map[string]any {
	if doc := OutputSchema(n); doc != nil {
		return Part(doc, path)
	}
	if n.Kind.Value == "human" {
		return Part(answerSchema(n), path)
	}
	switch n.Kind.Value + "." + strings.Join(path, ".") {
	case "http.status":
		if expect := n.Field("expect"); expect != nil && expect.Kind == spec.List {
			return map[string]any{"enum": expect.Data()}
		}
		return map[string]any{"type": "integer", "minimum": 200, "maximum": 299}
	case "graph.status":
		return map[string]any{"enum": []any{"completed"}}
	case "graph.quality":
		return map[string]any{"enum": []any{"clean", "degraded"}}
	}
	return nil
}

// answerSchema returns the schema of a person's answer, or nil if only the run knows it.
func answerSchema(n *spec.Node) map[string]any {
	if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List {
		values := choices.Data().([]any)
		if d := n.Field("default"); d != nil && !slices.Contains(values, d.Data()) {
			values = append(values, d.Data())
		}
		return map[string]any{"enum": values}
	}
	if schema := n.Field("schema"); schema != nil {
		doc, _ := schema.Data().(map[string]any)
		return doc
	}
	return nil
}

// The JSON Schema of drawings as JSON.

package render

import (
	"reflect"
	"strconv"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a Drawing as plain data.
func Schema() map[string]any {
	out := describeObject[Drawing]("a drawn graph; fields about a run or tests are null if none is painted")
	out["$schema"], out["title"] = "https://json-schema.org/draft/2020-12/schema", "graphrun drawing"
	out["$defs"] = map[string]any{
		"node": describeObject[Node]("a node"),
		"edge": describeObject[Edge]("an edge, a target of a goto, or the order of two nodes of finally"),
		"error": map[string]any{
			"description": "an error as runs print it", "type": "object", "required": []any{"kind", "message"},
			"properties": map[string]any{
				"kind":    map[string]any{"description": "kind of the failure", "type": "string"},
				"message": map[string]any{"description": "what went wrong", "type": "string"},
			},
		},
	}
	return out
}

// describeObject describes a struct whose fields are all required. Their tags hold doc, enum and
// min.
func describeObject[T any](description string) map[string]any {
	properties, required := map[string]any{}, []any{}
	for field := range reflect.TypeFor[T]().Fields() {
		name := field.Tag.Get("json")
		if name == "" || name == "-" {
			continue
		}
		property := describeType(name, field.Type)
		property["description"] = field.Tag.Get("doc")
		if words := field.Tag.Get("enum"); words != "" {
			enum := []any{}
			for _, word := range strings.Fields(words) {
				enum = append(enum, word)
			}
			if field.Type.Kind() == reflect.Pointer {
				enum = append(enum, nil)
			}
			property["enum"] = enum
		}
		if least, err := strconv.Atoi(field.Tag.Get("min")); err == nil {
			property["minimum"] = least
		}
		properties[name], required = property, append(required, name)
	}
	return map[string]any{
		"description": description, "type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

// describeType describes the type of a field.
func describeType(name string, t reflect.Type) map[string]any {
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer"}
	ref := func(to string) map[string]any { return map[string]any{"$ref": to} }
	switch {
	case name == "error":
		return map[string]any{"anyOf": []any{ref("#/$defs/error"), map[string]any{"type": "null"}}}
	case t.Kind() == reflect.Slice: // nodes, edges
		return map[string]any{"type": "array", "items": ref("#/$defs/" + strings.TrimSuffix(name, "s"))}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": ref("#")}
	case t.Kind() == reflect.Interface:
		return map[string]any{"type": []any{"object", "null"}}
	case t.Kind() == reflect.Pointer:
		return map[string]any{"type": []any{types[t.Elem().Kind()], "null"}}
	}
	return map[string]any{"type": types[t.Kind()]}
}

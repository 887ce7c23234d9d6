// JSON Schemas in the forms that structured output of providers takes.

package wire

import (
	"maps"
	"slices"
	"strings"
)

// Dialect names the keywords of JSON Schema that structured output takes, besides
// type, description, enum, const, required, title, properties, items and closed
// objects.
type Dialect struct {
	Keeps []string
	// Drops are keywords that the caller checks by itself.
	Drops  []string
	Unions bool // anyOf
	// Complete refuses objects with optional properties, which a model would invent,
	// and lists of anything.
	Complete bool
}

// Strict is the dialect of OpenAI, whose answers always fit the schema.
var Strict = Dialect{Keeps: []string{"minimum", "maximum", "pattern", "minItems", "maxItems"}, Complete: true}

// Close returns a schema with closed objects; false if the dialect can't express it.
// Closing an object allows less than the schema does.
func (d *Dialect) Close(schema map[string]any) (map[string]any, bool) {
	out := make(map[string]any, len(schema)+1)
	for key, value := range schema {
		ok := true
		switch key {
		case "type", "description", "enum", "const", "required", "title":
			out[key] = value
		case "additionalProperties":
			ok = value == false
		case "items":
			out[key], ok = d.closeItem(value)
		case "properties":
			out[key], ok = mapValues(value, d.closeItem)
		default:
			switch {
			case slices.Contains(d.Keeps, key):
				out[key] = value
			case key == "anyOf" && d.Unions:
				out[key], ok = mapValues(value, d.closeItem)
			default:
				ok = slices.Contains(d.Drops, key)
			}
		}
		if !ok {
			return nil, false
		}
	}
	if out["type"] == "object" {
		out["additionalProperties"] = false
		return out, !d.Complete || allRequired(out)
	}
	return out, !d.Complete || out["type"] != "array" || out["items"] != nil
}

func (d *Dialect) closeItem(value any) (any, bool) {
	schema, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return d.Close(schema)
}

// mapValues applies f to each value of a map or list; false if f fails for one.
func mapValues(v any, f func(any) (any, bool)) (any, bool) {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			if out[key], ok = f(v[key]); !ok {
				return nil, false
			}
		}
		return out, true
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], ok = f(v[i]); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return v, true
}

// allRequired reports whether an object requires exactly its properties.
func allRequired(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]string)
	list, _ := schema["required"].([]any)
	required = slices.Clone(required)
	for _, name := range list {
		text, _ := name.(string)
		required = append(required, text)
	}
	slices.Sort(required)
	return len(properties) > 0 && slices.Equal(slices.Compact(required), slices.Sorted(maps.Keys(properties)))
}

// Limits of Inline, because references can multiply a small schema.
const (
	maxInlineDepth = 40
	maxInlineParts = 10_000
)

// Inline replaces local references (`#/$defs/x`) by their targets. It returns false
// for recursive schemas, references to other documents and schemas beyond the limits.
func Inline(schema map[string]any) (map[string]any, bool) {
	parts := 0
	var inline func(v any, depth int) (any, bool)
	inline = func(v any, depth int) (any, bool) {
		object, is := v.(map[string]any)
		if is {
			if parts++; depth > maxInlineDepth || parts > maxInlineParts {
				return nil, false
			}
			object = maps.Clone(object)
			if ref, is := object["$ref"].(string); is {
				target, ok := resolve(schema, ref)
				if !ok {
					return nil, false
				}
				delete(object, "$ref")
				target = maps.Clone(target)
				maps.Copy(target, object) // keywords beside $ref apply too
				return inline(target, depth+1)
			}
			delete(object, "$defs")
			delete(object, "definitions")
			v = object
		}
		return mapValues(v, func(v any) (any, bool) { return inline(v, depth+1) })
	}
	out, ok := inline(schema, 0)
	whole, _ := out.(map[string]any)
	return whole, ok
}

// resolve returns the target of a local reference.
func resolve(root map[string]any, ref string) (map[string]any, bool) {
	path, local := strings.CutPrefix(ref, "#/")
	for part := range strings.SplitSeq(path, "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next, ok := root[part].(map[string]any)
		if !ok {
			return nil, false
		}
		root = next
	}
	return root, local
}

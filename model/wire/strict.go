// Schemas that OpenAI's strict mode takes.

package wire

import (
	"maps"
	"slices"
)

// Strict returns a schema in the form that OpenAI's strict mode wants, in
// which answers fit it for certain, and whether it has one. Objects must be
// closed, which allows less than an open one and is hence right for both; all
// their properties must be required, which would have a model invent what the
// flow leaves open, so a schema with optional ones is not strict.
func Strict(schema map[string]any) (map[string]any, bool) {
	out := make(map[string]any, len(schema)+1)
	for key, value := range schema {
		switch key {
		case "type", "description", "enum", "const", "required", "minimum", "maximum", "pattern", "minItems", "maxItems", "title":
			out[key] = value
		case "additionalProperties":
			if value != false {
				return nil, false
			}
		case "properties":
			properties, ok := strictProperties(value)
			if !ok {
				return nil, false
			}
			out[key] = properties
		case "items":
			items, ok := strictItem(value)
			if !ok {
				return nil, false
			}
			out[key] = items
		default:
			return nil, false
		}
	}
	if out["type"] != "object" {
		return out, out["type"] != "array" || out["items"] != nil
	}
	out["additionalProperties"] = false
	return out, allRequired(out)
}

func strictItem(value any) (map[string]any, bool) {
	schema, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return Strict(schema)
}

func strictProperties(value any) (map[string]any, bool) {
	given, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(given))
	for name, property := range given {
		if out[name], ok = strictItem(property); !ok {
			return nil, false
		}
	}
	return out, true
}

// allRequired reports whether an object requires exactly its properties.
func allRequired(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	var required []string
	switch list := schema["required"].(type) {
	case []string:
		required = slices.Clone(list)
	case []any:
		for _, name := range list {
			text, _ := name.(string)
			required = append(required, text)
		}
	}
	slices.Sort(required)
	return len(properties) > 0 && slices.Equal(slices.Compact(required), slices.Sorted(maps.Keys(properties)))
}

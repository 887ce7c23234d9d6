// Schemas without references.

package wire

import (
	"maps"
	"strings"
)

// Limits of Inline, because references can multiply a small schema.
const (
	maxInlineDepth = 40
	maxInlineParts = 10_000
)

// Inline replaces each local reference (`#/$defs/x`, `#/definitions/x`) of a schema by its
// target. It returns false for a recursive schema, for a reference to another document, and
// for a schema beyond the limits.
func Inline(schema map[string]any) (map[string]any, bool) {
	i := &inliner{root: schema}
	out, ok := i.schema(schema, 0)
	return out, ok
}

type inliner struct {
	root  map[string]any
	parts int
}

func (i *inliner) schema(schema map[string]any, depth int) (map[string]any, bool) {
	if i.parts++; depth > maxInlineDepth || i.parts > maxInlineParts {
		return nil, false
	}
	if ref, is := schema["$ref"].(string); is {
		named, ok := i.named(ref)
		if !ok {
			return nil, false
		}
		whole := maps.Clone(named)
		for key, value := range schema { // keywords beside $ref apply too
			if key != "$ref" {
				whole[key] = value
			}
		}
		return i.schema(whole, depth+1)
	}
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		if key == "$defs" || key == "definitions" {
			continue
		}
		inner, ok := i.value(value, depth+1)
		if !ok {
			return nil, false
		}
		out[key] = inner
	}
	return out, true
}

func (i *inliner) value(v any, depth int) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return i.schema(v, depth)
	case []any:
		out := make([]any, len(v))
		for at := range v {
			inner, ok := i.value(v[at], depth)
			if !ok {
				return nil, false
			}
			out[at] = inner
		}
		return out, true
	}
	return v, true
}

// named returns the target of a reference.
func (i *inliner) named(ref string) (map[string]any, bool) {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, false
	}
	at := i.root
	for part := range strings.SplitSeq(path, "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next, ok := at[part].(map[string]any)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}

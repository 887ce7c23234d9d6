// Whether literal values fit their JSON Schema: type, enum, const, items,
// properties. The rest of JSON Schema is for run time, with a real validator.

package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// FitsLiteral reports whether Check finds nothing amiss with a literal by what it knows of
// JSON Schema; a validator may know better.
func FitsLiteral(schema map[string]any, v *Value) bool {
	r := &reporter{}
	r.fits(schema, v, "")
	return len(r.diags) == 0
}

// fits reports the parts of v that do not fit the schema; what names v.
func (r *reporter) fits(schema map[string]any, v *Value, what string) {
	if types := typesOf(schema); len(types) > 0 && !slices.ContainsFunc(types, func(want string) bool { return hasType(v, want) }) {
		r.report("type-mismatch", v.Span, "%s must be %s; found %s", what, typeWords(types), describe(v))
		return
	}
	if allowed, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(allowed, func(a any) bool { return equal(a, v.Data()) }) {
		r.report("type-mismatch", v.Span, "%s must be one of %s; found %s", what, dataWords(allowed), describe(v))
		return
	}
	if want, ok := schema["const"]; ok && !equal(want, v.Data()) {
		r.report("type-mismatch", v.Span, "%s must be %s; found %s", what, dataWords([]any{want}), describe(v))
		return
	}
	switch v.Kind {
	case List:
		if items, ok := schema["items"].(map[string]any); ok {
			prefix, _ := schema["prefixItems"].([]any)
			for i := range v.Items {
				if i >= len(prefix) {
					r.fits(items, &v.Items[i], "each item of "+what)
				}
			}
		}
	case Map:
		r.properties(schema, v, what)
	}
}

func (r *reporter) properties(schema map[string]any, v *Value, what string) {
	properties, _ := schema["properties"].(map[string]any)
	for i := range v.Fields {
		f := &v.Fields[i]
		if property, ok := properties[f.Key.Value].(map[string]any); ok {
			r.fits(property, &f.Value, fmt.Sprintf("%q in %s", f.Key.Value, what))
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok && v.Get(name) == nil {
			r.report("type-mismatch", v.Span, "%s lacks %q, which its schema requires", what, name)
		}
	}
}

// typesOf are the legal types among those that a schema names.
func typesOf(schema map[string]any) []string {
	switch typ := schema["type"].(type) {
	case string:
		if slices.Contains(schemaTypes(), typ) {
			return []string{typ}
		}
	case []any:
		var out []string
		for _, name := range typ {
			name, ok := name.(string)
			if !ok || !slices.Contains(schemaTypes(), name) {
				return nil
			}
			out = append(out, name)
		}
		return out
	}
	return nil
}

func hasType(v *Value, want string) bool {
	switch want {
	case "null":
		return v.Kind == Null
	case "boolean":
		return v.Kind == Bool
	case "integer":
		f := number(v)
		return v.Kind == Int || v.Kind == Float && f == float64(int64(f))
	case "number":
		return v.Kind == Int || v.Kind == Float
	case "string":
		return v.Kind == String
	case "array":
		return v.Kind == List
	}
	return v.Kind == Map
}

func typeWords(types []string) string {
	words := map[string]string{
		"null": "null", "boolean": "true or false", "integer": "an integer", "number": "a number",
		"string": "a string", "array": "an array", "object": "an object",
	}
	out := make([]string, len(types))
	for i, name := range types {
		out[i] = words[name]
	}
	sort.Strings(out)
	return strings.Join(out, " or ")
}

func dataWords(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		out[i] = string(text)
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// equal compares data as JSON does: 1 and 1.0 are one number.
func equal(a, b any) bool {
	switch x := a.(type) {
	case int:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int); ok {
			return x == float64(y)
		}
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// Values of schemas.

package explore

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/solve"
)

// valuesOf are values of a schema, the simplest first, made of constants that conditions
// mention, and whether there are others. Members of objects that read does not name, as
// paths, are left as they are.
func valuesOf(doc map[string]any, scalars []any, read [][]string) (out []any, partial bool) {
	if list, ok := doc["enum"].([]any); ok {
		return list, false
	}
	if c, ok := doc["const"]; ok {
		return []any{c}, false
	}
	kinds, ok := doc["type"].([]any)
	if !ok {
		kinds = []any{doc["type"]}
	}
	for _, kind := range kinds {
		more, others := valuesOfType(doc, kind, scalars, read)
		out, partial = append(out, more...), partial || others
	}
	return out, partial
}

func valuesOfType(doc map[string]any, kind any, scalars []any, read [][]string) (out []any, partial bool) {
	switch kind {
	case "null":
		return []any{nil}, false
	case "boolean":
		return []any{true, false}, false
	case "array":
		return listsOf(doc, scalars), true
	case "object":
		return objectsOf(doc, scalars, read), true
	case "string":
		long := []any{}
		for _, v := range scalars {
			switch v := v.(type) {
			case string:
				out = append(out, v)
			case int: // of a length
				if v > 0 && v < 1000 {
					long = append(long, strings.Repeat("x", v+1), strings.Repeat("x", v))
				}
			}
		}
		return append(append(out, textsOf(doc)...), long...), true
	case "integer", "number":
		return numbersOf(doc, kind == "number", scalars)
	}
	for _, v := range scalars {
		if out = append(out, v); isInt(v) {
			out = append(out, v.(int)+1)
		}
	}
	return append(out, "other", true, false, nil), true
}

// textsOf are texts of a schema that no constant is.
func textsOf(doc map[string]any) []any {
	if pattern, ok := doc["pattern"].(string); ok {
		return []any{solve.Matching(pattern)}
	}
	switch doc["format"] {
	case "date":
		return []any{"2030-01-01"}
	case "date-time":
		return []any{"2030-01-01T00:00:00Z"}
	case "email":
		return []any{"a@example.org"}
	case "uri", "url":
		return []any{"https://example.org"}
	}
	least, _ := doc["minLength"].(int)
	if least > len("other") && least < 10_000 {
		return []any{strings.Repeat("x", least)}
	}
	return []any{"other", "x", ""}
}

func isInt(v any) bool {
	_, is := v.(int)
	return is
}

// numbersOf are all numbers of a small range, or those that constants tell apart.
func numbersOf(doc map[string]any, fractions bool, scalars []any) (out []any, partial bool) {
	low, hasLow := doc["minimum"].(int)
	high, hasHigh := doc["maximum"].(int)
	if hasLow && hasHigh && !fractions && high-low < maxOptions {
		for n := low; n <= high; n++ {
			out = append(out, n)
		}
		return out, false
	}
	for _, v := range scalars {
		switch v := v.(type) {
		case int:
			out = append(out, v, v+1, v-1)
		case float64:
			if fractions {
				out = append(out, v, v+1, v-1)
			}
		}
	}
	out = append(out, 0, 1)
	for _, v := range scalars { // what is added before a comparison
		for _, w := range scalars {
			if a, b := v, w; isInt(a) && isInt(b) && len(out) < maxOptions {
				out = append(out, a.(int)-b.(int))
			}
		}
	}
	if hasLow {
		out = append(out, low)
	}
	if hasHigh {
		out = append(out, high)
	}
	return out, true
}

// listsOf are lists of items: of none, of each, of two, and as long as constants ask for.
func listsOf(doc map[string]any, scalars []any) []any {
	items, _ := doc["items"].(map[string]any)
	all, _ := valuesOf(items, scalars, [][]string{{}})
	var out []any
	if least, _ := doc["minItems"].(int); least < 1 || len(all) == 0 {
		out = append(out, []any{})
	}
	if len(all) == 0 {
		return out
	}
	all = all[:min(len(all), maxItems)]
	for _, v := range all {
		out = append(out, []any{v})
	}
	last := all[len(all)-1]
	out = append(out, []any{all[0], last}, []any{last, all[0]}, []any{all[0], all[0]})
	if most, _ := doc["maxItems"].(int); most > 2 && most <= maxOptions {
		out = append(out, slices.Repeat([]any{all[0]}, most))
	}
	for _, v := range scalars {
		n, _ := v.(int)
		for length := max(n, 2); length <= min(n+1, maxItems); length++ {
			out = append(out, slices.Repeat([]any{last}, length))
		}
	}
	return out
}

// objectsOf are objects that have all properties, with each value of those that are read,
// the first other one of each before the next, only those that are required, and none.
func objectsOf(doc map[string]any, scalars []any, read [][]string) []any {
	properties, _ := doc["properties"].(map[string]any)
	full, _ := sample(doc).(map[string]any)
	out := []any{full}
	names := slices.Sorted(maps.Keys(properties))
	values := make([][]any, len(names))
	most := 0
	for i, name := range names {
		own, _ := properties[name].(map[string]any)
		if inside := within(read, name); len(inside) > 0 {
			values[i], _ = valuesOf(own, scalars, inside)
		}
		most = max(most, len(values[i]))
	}
	product := 1
	for i := range names {
		product = min(product*max(len(values[i]), 1), maxOptions)
	}
	if product < maxOptions { // all of them together
		out = combined(full, names, values)
	}
	for nth := range min(most, maxOptions) {
		for i, name := range names {
			if nth < len(values[i]) && !same(values[i][nth], full[name]) {
				other := maps.Clone(full)
				other[name] = values[i][nth]
				out = append(out, other)
			}
		}
	}
	least := map[string]any{}
	required, _ := doc["required"].([]any)
	for _, name := range required {
		if text, ok := name.(string); ok {
			least[text] = full[text]
		}
	}
	return append(out, least, map[string]any{})
}

// combined returns an object with every combination of the values of its members; members
// without values are as in full.
func combined(full map[string]any, names []string, values [][]any) []any {
	out := []any{full}
	for i, name := range names {
		var next []any
		for _, object := range out {
			if len(values[i]) == 0 {
				next = append(next, object)
			}
			for _, value := range values[i] {
				other := maps.Clone(object.(map[string]any))
				other[name] = value
				next = append(next, other)
			}
		}
		out = next
	}
	return out
}

// within are those of some paths that lead into a member, without its name; one that ends
// before it reads all members.
func within(paths [][]string, name string) [][]string {
	var out [][]string
	for _, path := range paths {
		switch {
		case len(path) == 0 || strings.HasPrefix(path[0], "["):
			out = append(out, nil)
		case path[0] == name:
			out = append(out, path[1:])
		}
	}
	return out
}

// allowsObject reports whether object is the type of a schema, or one of its types.
func allowsObject(doc map[string]any) bool {
	kinds, isList := doc["type"].([]any)
	return doc["type"] == "object" || isList && slices.Contains(kinds, any("object"))
}

// sample returns one value of a schema, with all properties of objects. It prefers an
// object where the schema allows one: otherwise it and valuesOf would call each other for
// ever.
func sample(doc map[string]any) any {
	if allowsObject(doc) || doc["properties"] != nil {
		out := map[string]any{}
		properties, _ := doc["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			own, _ := properties[name].(map[string]any)
			out[name] = sample(own)
		}
		return out
	}
	values, _ := valuesOf(doc, nil, nil)
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

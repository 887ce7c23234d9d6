// Lists and objects for a rehearsal, as many as conditions may tell apart.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// maxItems is the length up to which lists are tried.
const maxItems = 6

// compounds are lists or objects that a key may hold, made of what the programs that
// read it compare with; nil when its schema says neither.
func (r *rehearsal) compounds(k *spec.StateKey) []any {
	var scalars []any
	for _, u := range r.f.uses().All {
		if u.Program == nil || !dataflow.ReadsKey(u.Program, k.Name.Value) {
			continue
		}
		u.Program.Tree().Each(func(t *eval.Tree) {
			if _, text := t.Value.(string); text || isNumber(t.Value) {
				scalars = oneMore(scalars, t.Value)
			}
		})
	}
	return valuesOf(k.Schema, scalars)
}

func isNumber(v any) bool {
	switch v.(type) {
	case int, float64:
		return true
	}
	return false
}

func oneMore(list []any, v any) []any {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// valuesOf are values of a schema, the simplest first.
func valuesOf(doc map[string]any, scalars []any) []any {
	if list, ok := doc["enum"].([]any); ok {
		return list
	}
	switch doc["type"] {
	case "array":
		items, _ := doc["items"].(map[string]any)
		return listsOf(valuesOf(items, scalars), scalars)
	case "object":
		return objectsOf(doc, scalars)
	case "boolean":
		return []any{true, false}
	case "string":
		out := slices.DeleteFunc(slices.Clone(scalars), isNumber)
		return append(out, "other", "")
	case "integer", "number":
		out := []any{}
		for _, v := range scalars {
			if n, ok := v.(int); ok {
				out = oneMore(oneMore(out, n), n+1)
			} else if isNumber(v) && doc["type"] == "number" {
				out = oneMore(out, v)
			}
		}
		return oneMore(oneMore(out, 0), -1)
	}
	return append(slices.Clone(scalars), "other")
}

// listsOf are lists of items: of none, of each, of two, and as long as numbers ask for.
func listsOf(items, scalars []any) []any {
	out := []any{[]any{}}
	if len(items) == 0 {
		return out
	}
	const most = 6
	for _, v := range items[:min(len(items), most)] {
		out = append(out, []any{v})
	}
	last := items[min(len(items), most)-1]
	out = append(out, []any{items[0], last}, []any{last, items[0]})
	for _, v := range scalars {
		n, _ := v.(int)
		for length := max(n, 2); length <= min(n+1, maxItems); length++ {
			out = append(out, slices.Repeat([]any{last}, length))
		}
	}
	return out
}

// objectsOf are objects that have all properties, with each of their values in turn,
// only those that are required, and none.
func objectsOf(doc map[string]any, scalars []any) []any {
	properties, _ := doc["properties"].(map[string]any)
	required, _ := doc["required"].([]any)
	var names []string
	for name := range properties { //lint:ignore mapiter sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	values := map[string][]any{}
	full, least := map[string]any{}, map[string]any{}
	for _, name := range names {
		sub, _ := properties[name].(map[string]any)
		values[name] = valuesOf(sub, scalars)
		if len(values[name]) == 0 {
			continue
		}
		full[name] = values[name][0]
		if slices.Contains(required, any(name)) {
			least[name] = full[name]
		}
	}
	out := []any{map[string]any{}, least, full}
	for _, name := range names {
		for _, v := range values[name][min(1, len(values[name])):] {
			other := map[string]any{}
			for n, old := range full { //lint:ignore mapiter a copy
				other[n] = old
			}
			other[name] = v
			out = append(out, other)
		}
	}
	return out
}

// Whether literal values fit their JSON Schema.

package spec

import (
	"errors"

	"github.com/graphrun/graphrun/internal/schema"
)

// checkFit reports the first part of v that does not fit a schema. what names v. An invalid
// schema has its own finding.
func (r *reporter) checkFit(doc map[string]any, v *Value, what string) {
	compiled, err := schema.Compile(doc)
	if err != nil {
		return
	}
	var misfit *schema.Mismatch
	if err := compiled.Check(compiled.Normalise(v.Data())); errors.As(err, &misfit) {
		r.report("type-mismatch", v.PartAt(misfit.Path).Span, "%s: %v", what, misfit)
	}
}

// updateSchema returns the schema of a write to a key with its reducer, or nil if any value
// is allowed.
func updateSchema(k *StateKey, v *Value) map[string]any {
	items, hasItems := k.Schema["items"].(map[string]any)
	switch k.Reducer.Value {
	case "", "replace":
		return k.Schema
	case "sum", "min", "max":
		if typ, ok := k.Schema["type"]; ok {
			return map[string]any{"type": typ}
		}
	case "merge":
		out := map[string]any{"type": "object"}
		if properties, ok := k.Schema["properties"]; ok {
			out["properties"] = properties
		}
		return out
	case "append", "prepend", "union":
		if v.Kind != List {
			return items
		}
		if hasItems {
			return map[string]any{"items": items}
		}
	}
	return nil
}

// The rules about state keys: references that must exist, literals that must fit.

package spec

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/internal/schema"
)

// checkStateKeys checks the names of state keys in a node, and the literals of a set node. Strings there
// are expressions, which package bind checks.
func (c *graphChecker) checkStateKeys(n *Node) {
	c.checkNames(n.Reads)
	c.checkNames(n.Writes.Keys)
	for _, write := range n.Writes.Exprs {
		c.checkNames([]Text{write.Name})
	}
	if n.Cache != nil {
		c.checkNames(n.Cache.Keys)
	}
	if n.Decide != nil {
		c.checkNames(n.Decide.See)
	}
	if n.Kind.Value != "set" {
		return
	}
	set := n.Field("set").Entries()
	for i := range set {
		f := &set[i]
		c.checkNames([]Text{f.Key})
		if k := c.graph.keys[f.Key.Value]; k != nil && f.Value.Kind != String {
			c.checkFit(schemaOfUpdate(k, &f.Value), &f.Value, fmt.Sprintf("the value for %q", f.Key.Value))
		}
	}
}

// checkNames reports names of undeclared state keys, unless the graph allows them.
func (c *graphChecker) checkNames(names []Text) {
	for _, name := range names {
		if !c.graph.StrictState || c.graph.keys[name.Value] != nil {
			continue
		}
		near, detail := c.keyNames().Closest(name.Value), "; declare it under \"state\""
		if near == "" && len(c.graph.State) > 0 {
			detail = "; declared are " + c.keyNames().list
		}
		c.report("unknown-state-key", name.At(0, len(name.Value)), "%q is not a declared state key%s", name.Value, detail).Suggestion = near
	}
}

// checkFit reports the first part of v, described by what, that does not fit a valid schema.
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

// schemaOfUpdate returns the schema of a write to a key with its reducer, or nil if any value is allowed.
func schemaOfUpdate(k *StateKey, v *Value) map[string]any {
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

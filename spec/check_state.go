// The rules about state keys: references that must exist, literals that must fit.

package spec

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/internal/schema"
)

// checkStateKeys checks the names of state keys, unless the graph allows undeclared ones.
func (c *graphChecker) checkStateKeys() {
	g := c.graph
	if !g.StrictState {
		return
	}
	if g.Cache != nil {
		c.checkNames(g.Cache.Keys...)
	}
	for _, n := range g.Nodes {
		c.checkNames(n.Reads...)
		c.checkNames(n.Writes.Keys...)
		for i := range n.Writes.Exprs {
			c.checkNames(n.Writes.Exprs[i].Name)
		}
		if n.Cache != nil {
			c.checkNames(n.Cache.Keys...)
		}
		if n.Decide != nil {
			c.checkNames(n.Decide.See...)
		}
		set := setEntries(n)
		for i := range set {
			c.checkNames(set[i].Key)
		}
	}
}

// setEntries returns the entries of a set node: state keys and values.
func setEntries(n *Node) []Field {
	if set := n.Field("set"); set != nil && n.Kind.Value == "set" {
		return set.Fields
	}
	return nil
}

// checkNames reports names of undeclared keys.
func (c *graphChecker) checkNames(names ...Text) {
	for _, name := range names {
		if c.graph.keys[name.Value] != nil {
			continue
		}
		near := c.keyNames.findNearest(name.Value)
		detail := "; declare it under \"state\""
		if near == "" && len(c.keyNames.names) > 0 {
			detail = "; declared are " + c.keyNames.listNames()
		}
		c.report("unknown-state-key", name.At(0, len(name.Value)), "%q is not a declared state key%s", name.Value, detail)
		c.suggest(near)
	}
}

// checkLiterals reports values of set nodes that do not fit their key. Strings are expressions, which
// package bind checks.
func (c *graphChecker) checkLiterals() {
	for _, n := range c.graph.Nodes {
		set := setEntries(n)
		for i := range set {
			f := &set[i]
			k := c.graph.keys[f.Key.Value]
			if k == nil || f.Value.Kind == String {
				continue
			}
			if schema := updateSchema(k, &f.Value); schema != nil {
				c.checkFit(schema, &f.Value, fmt.Sprintf("the value for %q", f.Key.Value))
			}
		}
	}
}

// checkFit reports the first part of v that does not fit a schema. what describes v. Another check
// reports an invalid schema.
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

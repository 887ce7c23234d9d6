// The rules about state keys: references that must exist, literals that must fit.

package spec

import "fmt"

// stateKeys reports names of undeclared keys, unless undeclared keys are allowed.
func (c *graphChecker) stateKeys() {
	g := c.graph
	if !g.StrictState || g.gaps&gapState != 0 {
		return
	}
	if g.Cache != nil {
		c.keys(g.Cache.Keys)
	}
	for _, n := range g.Nodes {
		c.keys(n.Reads)
		c.keys(n.Writes.Keys)
		for i := range n.Writes.Exprs {
			c.key(n.Writes.Exprs[i].Name)
		}
		if n.Cache != nil {
			c.keys(n.Cache.Keys)
		}
		if n.Decide != nil {
			c.keys(n.Decide.See)
		}
		set := targets(n)
		for i := range set {
			c.key(set[i].Key)
		}
	}
}

// targets returns the entries of a set node: state keys and values.
func targets(n *Node) []Field {
	if set := n.Field("set"); set != nil && n.Kind.Value == "set" {
		return set.Fields
	}
	return nil
}

func (c *graphChecker) keys(names []Text) {
	for _, name := range names {
		c.key(name)
	}
}

func (c *graphChecker) key(name Text) {
	if c.graph.keys[name.Value] != nil {
		return
	}
	near := c.keyNames.nearest(name.Value)
	detail := "; declare it under \"state\""
	if near == "" && len(c.keyNames.names) > 0 {
		detail = "; declared are " + c.keyNames.list()
	}
	c.report("unknown-state-key", name.At(0, len(name.Value)), "%q is no declared state key%s", name.Value, detail)
	c.suggest(near)
}

// literals reports values of set nodes that do not fit their key. Strings are expressions
// and not checked here.
func (c *graphChecker) literals() {
	for _, n := range c.graph.Nodes {
		set := targets(n)
		for i := range set {
			f := &set[i]
			k := c.graph.keys[f.Key.Value]
			if k == nil || f.Value.Kind == String {
				continue
			}
			if schema := updateSchema(k, &f.Value); schema != nil {
				c.fits(schema, &f.Value, fmt.Sprintf("the value for %q", f.Key.Value))
			}
		}
	}
}

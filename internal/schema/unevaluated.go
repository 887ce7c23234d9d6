// unevaluatedItems and unevaluatedProperties: what no other part of the schema
// has looked at. The rest of the schema has accepted the value by then, so that
// it is enough to ask again which alternatives fit.

package schema

import (
	"maps"
	"slices"
)

func (c *checker) checkUnevaluated(n *node, v any) *problem {
	switch v := v.(type) {
	case []any:
		if n.list == nil || n.list.unevaluated == nil {
			return nil
		}
		for i := range v {
			if c.looksAtItem(n, v, i, true) {
				continue
			}
			if p := c.check(n.list.unevaluated, v[i]); p != nil {
				return p.under(step{index: i, isIndex: true})
			}
		}
	case map[string]any:
		if n.object == nil || n.object.unevaluated == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if c.looksAtProperty(n, v, name, true) {
				continue
			}
			if p := c.check(n.object.unevaluated, v[name]); p != nil {
				return p.under(step{name: name})
			}
		}
	}
	return nil
}

// fits tells whether n accepts v; a check that ran too long counts as no.
func (c *checker) fits(n *node, v any) bool { return c.check(n, v) == nil }

// appliesTo lists the subschemas in place that had a say on v.
func (c *checker) appliesTo(n *node, v any) []*node {
	c.steps++
	if c.steps > maxSteps {
		return nil
	}
	var out []*node
	if n.ref != nil {
		out = append(out, n.ref)
	}
	if object, ok := v.(map[string]any); ok && n.object != nil {
		for _, d := range n.object.dependents {
			if _, ok := object[d.name]; ok && d.node != nil {
				out = append(out, d.node)
			}
		}
	}
	l := n.logic
	if l == nil {
		return out
	}
	out = append(out, l.allOf...)
	for _, alternatives := range [][]*node{l.anyOf, l.oneOf} {
		for _, sub := range alternatives {
			if c.fits(sub, v) {
				out = append(out, sub)
			}
		}
	}
	if l.ifNode != nil {
		branch := l.orElse
		if c.fits(l.ifNode, v) {
			out = append(out, l.ifNode)
			branch = l.then
		}
		if branch != nil {
			out = append(out, branch)
		}
	}
	return out
}

// looksAtItem tells whether n, its own unevaluatedItems apart if top, has a
// say on the element.
func (c *checker) looksAtItem(n *node, list []any, i int, top bool) bool {
	if r := n.list; r != nil {
		if i < len(r.prefix) || r.items != nil || r.unevaluated != nil && !top {
			return true
		}
		if r.contains != nil && c.fits(r.contains, list[i]) {
			return true
		}
	}
	return slices.ContainsFunc(c.appliesTo(n, list), func(sub *node) bool {
		return c.looksAtItem(sub, list, i, false)
	})
}

// looksAtProperty is looksAtItem for the property of an object.
func (c *checker) looksAtProperty(n *node, object map[string]any, name string, top bool) bool {
	if r := n.object; r != nil {
		if _, ok := r.properties[name]; ok || r.unevaluated != nil && !top || len(r.others(nil, name)) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(c.appliesTo(n, object), func(sub *node) bool {
		return c.looksAtProperty(sub, object, name, false)
	})
}

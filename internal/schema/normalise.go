// The one form of each number that a schema asks for.

package schema

import (
	"maps"
	"math"
	"slices"
)

// maxDescent bounds how deep into a value numbers are changed; what lies
// deeper stays as it is.
const maxDescent = 10_000

// normaliser is one walk through a value; its checker finds out which
// alternatives fit.
type normaliser struct {
	checker checker
}

// value follows v together with every subschema that describes it; no nodes
// mean that nothing is known. The bool tells whether the result is another
// value than v.
func (z *normaliser) value(nodes []*node, v any, depth int) (any, bool) {
	switch t := v.(type) {
	case int:
		if wantsFloat(z.applicable(nodes, v)) {
			return float64(t), true
		}
	case float64:
		if t == math.Trunc(t) && math.Abs(t) <= maxExact && !wantsFloat(z.applicable(nodes, v)) {
			return int(t), true
		}
	case []any:
		if depth >= maxDescent {
			break
		}
		if out, changed := z.list(z.applicable(nodes, v), t, depth); changed {
			return out, true
		}
	case map[string]any:
		if depth >= maxDescent {
			break
		}
		if out, changed := z.object(z.applicable(nodes, v), t, depth); changed {
			return out, true
		}
	}
	return v, false // the interface value it came in: boxing it anew would allocate
}

// wantsFloat tells whether numbers are float64 here: some schema says number,
// and none says integer alone.
func wantsFloat(nodes []*node) bool {
	float := false
	for _, n := range nodes {
		if n.types&typeNumber != 0 {
			float = true
		} else if n.types&typeInteger != 0 {
			return false
		}
	}
	return float
}

func (z *normaliser) list(nodes []*node, list []any, depth int) ([]any, bool) {
	prefix := 0
	for _, n := range nodes {
		if n.list != nil {
			prefix = max(prefix, len(n.list.prefix))
		}
	}
	rest := itemNodes(nodes, prefix)
	out, changed := list, false
	for i, v := range list {
		of := rest
		if i < prefix {
			of = itemNodes(nodes, i)
		}
		w, other := z.value(of, v, depth+1)
		if !other {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = w
	}
	return out, changed
}

func itemNodes(nodes []*node, i int) []*node {
	var out []*node
	for _, n := range nodes {
		if n.list != nil {
			out = join(out, n.list.item(i))
		}
	}
	return out
}

func (z *normaliser) object(nodes []*node, object map[string]any, depth int) (map[string]any, bool) {
	out, changed := object, false
	for name, v := range object { // each entry by itself: the order decides nothing
		w, other := z.value(propertyNodes(nodes, name), v, depth+1)
		if !other {
			continue
		}
		if !changed {
			out, changed = maps.Clone(object), true
		}
		out[name] = w
	}
	return out, changed
}

func propertyNodes(nodes []*node, name string) []*node {
	var out []*node
	for _, n := range nodes {
		if n.object == nil {
			continue
		}
		out = join(out, n.object.properties[name])
		if n.object.patterns != nil {
			for _, sub := range n.object.others(nil, name) {
				out = join(out, sub)
			}
		} else if n.object.properties[name] == nil {
			out = join(out, n.object.additional)
		}
	}
	return out
}

// join adds a node to a list; the list of one node is the node's own, so that
// plain schemas allocate nothing.
func join(list []*node, n *node) []*node {
	switch {
	case n == nil:
		return list
	case list == nil:
		return n.self
	case slices.Contains(list, n):
		return list
	}
	return append(slices.Clip(list), n)
}

// applicable widens nodes by the subschemas that apply in place: references,
// allOf, and the alternatives that accept v.
func (z *normaliser) applicable(nodes []*node, v any) []*node {
	if !slices.ContainsFunc(nodes, (*node).branches) {
		return nodes
	}
	var out []*node
	var add func(n *node)
	add = func(n *node) {
		if slices.Contains(out, n) {
			return
		}
		out = append(out, n)
		for _, sub := range z.checker.appliesTo(n, v) {
			add(sub)
		}
	}
	for _, n := range nodes {
		add(n)
	}
	return out
}

func (n *node) branches() bool {
	return n.ref != nil || n.logic != nil
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

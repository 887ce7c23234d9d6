// Giving each number the Go type that its schema names.

package schema

import (
	"maps"
	"math"
	"slices"
)

// maxDescent bounds how deep into a value numbers are changed; anything deeper
// stays as it is.
const maxDescent = 10_000

// normalise converts v by every subschema that describes it, and reports whether
// that changed anything. Without nodes nothing is known of the value.
func (c *checker) normalise(nodes []*node, v any, depth int) (any, bool) {
	switch t := v.(type) {
	case int:
		if wantsFloat(c.applicable(nodes, v)) {
			return float64(t), true
		}
	case float64:
		if t == math.Trunc(t) && math.Abs(t) <= maxExact && !wantsFloat(c.applicable(nodes, v)) {
			return int(t), true
		}
	case []any:
		if depth < maxDescent {
			if out, changed := c.normaliseList(c.applicable(nodes, v), t, depth); changed {
				return out, true
			}
		}
	case map[string]any:
		if depth < maxDescent {
			if out, changed := c.normaliseObject(c.applicable(nodes, v), t, depth); changed {
				return out, true
			}
		}
	}
	return v, false // boxing it anew would allocate
}

// wantsFloat reports whether numbers are float64 here: a schema says number, and
// none says integer alone.
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

func (c *checker) normaliseList(nodes []*node, list []any, depth int) (out []any, changed bool) {
	for i, v := range list {
		var of []*node
		for _, n := range nodes {
			if sub := n.item(i); sub != nil {
				of = append(of, sub)
			}
		}
		if w, other := c.normalise(of, v, depth+1); other {
			if out == nil {
				out = slices.Clone(list)
			}
			out[i] = w
		}
	}
	return out, out != nil
}

func (c *checker) normaliseObject(nodes []*node, object map[string]any, depth int) (out map[string]any, changed bool) {
	for name, v := range object { // each entry by itself: the order decides nothing
		var of []*node
		for _, n := range nodes {
			of = append(of, n.member(name)...)
		}
		if w, other := c.normalise(of, v, depth+1); other {
			if out == nil {
				out = maps.Clone(object)
			}
			out[name] = w
		}
	}
	return out, out != nil
}

// member returns the schemas of a property.
func (n *node) member(name string) []*node {
	out := n.matching(name)
	if sub := n.properties[name]; sub != nil {
		out = append(out, sub)
	}
	if out == nil && n.additional != nil {
		out = append(out, n.additional)
	}
	return out
}

// applicable widens nodes by the subschemas that apply in place: references, allOf, and the
// alternatives that accept v. The result has no repeats.
func (c *checker) applicable(nodes []*node, v any) []*node {
	if !slices.ContainsFunc(nodes, func(n *node) bool { return n.whole }) {
		return nodes
	}
	var out []*node
	var add func(n *node)
	add = func(n *node) {
		c.steps++
		if n == nil || c.steps > maxSteps || slices.Contains(out, n) {
			return
		}
		out = append(out, n)
		if n.ref != nil {
			add(n.ref.target)
		}
		for _, sub := range n.allOf {
			add(sub)
		}
		for _, sub := range slices.Concat(n.anyOf, n.oneOf) {
			if c.check(sub, v) == nil {
				add(sub)
			}
		}
		if n.ifNode == nil {
			return
		}
		branch := n.orElse
		if c.check(n.ifNode, v) == nil {
			add(n.ifNode)
			branch = n.then
		}
		add(branch)
	}
	for _, n := range nodes {
		add(n)
	}
	return out
}

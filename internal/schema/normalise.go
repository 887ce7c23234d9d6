// Conversion of numbers to the Go type that their schema requires.

package schema

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// maxDescent is the maximum depth of conversions.
const maxDescent = 10_000

// normaliseValue converts v as all applicable subschemas require, and reports whether it changed.
func (c *checker) normaliseValue(nodes []*node, v any, depth int) (any, bool) {
	switch t := v.(type) {
	case int:
		if wantsFloat(c.findApplicable(nodes, v)) {
			return float64(t), true
		}
	case float64:
		if t == math.Trunc(t) && math.Abs(t) <= maxExact && !wantsFloat(c.findApplicable(nodes, v)) {
			return int(t), true
		}
	case []any, map[string]any:
		if depth < maxDescent {
			nodes = c.findApplicable(nodes, v)
			_, isList := v.([]any)
			return eval.MapParts(v, func(index int, name string, part any) (any, bool) {
				var of []*node
				for _, n := range nodes {
					if isList {
						of = appendNode(of, n.itemSchema(index))
					} else {
						of = append(of, n.memberSchemas(name)...)
					}
				}
				return c.normaliseValue(of, part, depth+1)
			})
		}
	}
	return v, false // a new interface value would allocate
}

// wantsFloat reports whether numbers become float64: one of the schemas has the type number, and no
// schema has only integer.
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

// memberSchemas returns the schemas of a property.
func (n *node) memberSchemas(name string) []*node {
	out := appendNode(n.matchPatterns(name), n.properties[name])
	if out == nil {
		out = appendNode(nil, n.additional)
	}
	return out
}

func appendNode(nodes []*node, n *node) []*node {
	if n == nil {
		return nodes
	}
	return append(nodes, n)
}

// findApplicable returns the schemas and all subschemas that apply to v: references, allOf, and the
// alternatives that accept v.
func (c *checker) findApplicable(nodes []*node, v any) []*node {
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

// From a schema document to nodes.

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxNesting bounds how deep schemas stand inside schemas.
const maxNesting = 400

// compiler builds the nodes of one document. It keeps the first error; after
// that its nodes are of no use.
type compiler struct {
	nodes   map[string]*node // by JSON pointer
	order   []*node
	anchors map[string]*node
	err     *Error
}

func (c *compiler) fail(at []string, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Path: at, Message: fmt.Sprintf(format, args...)}
	}
}

// down is the path at with one more step; it never shares memory with a sibling.
func down(at []string, step string) []string {
	return append(slices.Clip(at), step)
}

// schema compiles the subschema at a path.
func (c *compiler) schema(doc any, at []string) *node {
	n := &node{doc: doc}
	n.self = []*node{n}
	if c.err != nil {
		return n
	}
	if len(at) > maxNesting {
		c.fail(at[:4], "the schema is nested deeper than %d levels", maxNesting)
		return n
	}
	c.nodes[pointer(at)] = n
	c.order = append(c.order, n)
	switch doc := doc.(type) {
	case bool:
		n.never = !doc
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			if !c.keyword(n, name, doc[name], down(at, name)) && !strings.HasPrefix(name, "x-") {
				c.fail(down(at, name), "unknown keyword %s%s", strconv.Quote(name), insteadOf(name))
			}
		}
	default:
		c.fail(at, "%s is not a schema; allowed: an object of keywords, true, false", show(doc))
	}
	return n
}

// insteadOf helps with keywords of other drafts and dialects.
func insteadOf(name string) string {
	switch name {
	case "additionalItems":
		return `; what follows prefixItems is described by "items"`
	case "dependencies", "dependentRequired", "dependentSchemas":
		return `; use "if" and "then"`
	case "unevaluatedItems", "unevaluatedProperties":
		return `; use "items" or "additionalProperties"`
	case "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor":
		return `; only "$ref" inside the document is supported`
	case "nullable":
		return "; name the type null instead: type: [string, null]"
	}
	return ""
}

// References inside one document.

package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// pointer is the JSON pointer (RFC 6901) of a path.
func pointer(at []string) string {
	var b strings.Builder
	for _, step := range at {
		b.WriteByte('/')
		step = strings.ReplaceAll(step, "~", "~0")
		b.WriteString(strings.ReplaceAll(step, "/", "~1"))
	}
	return b.String()
}

func (c *compiler) readRef(n *node, value any, at []string) {
	text, ok := value.(string)
	if !ok {
		c.fail(at, "%s is not a reference", show(value))
		return
	}
	n.refText, n.refPath = text, at
}

func (c *compiler) readAnchor(n *node, value any, at []string) {
	name, ok := value.(string)
	if !ok || name == "" {
		c.fail(at, "%s is not a name", show(value))
		return
	}
	if c.anchors[name] != nil {
		c.fail(at, "the anchor %s is there twice", strconv.Quote(name))
		return
	}
	c.anchors[name] = n
}

// readID allows an identity for the whole document only: inside, it would
// change what references mean.
func (c *compiler) readID(value any, at []string) {
	if _, ok := value.(string); !ok {
		c.fail(at, "%s is not an address", show(value))
	} else if len(at) > 1 {
		c.fail(at, "an identity inside a document is not supported; use $anchor")
	}
}

// resolve leads every $ref to its node.
func (c *compiler) resolve(doc map[string]any) {
	id, _ := doc["$id"].(string)
	for _, n := range c.order {
		if n.refPath == nil {
			continue
		}
		n.ref = c.target(strings.TrimPrefix(n.refText, id))
		switch {
		case n.ref != nil:
		case !strings.HasPrefix(n.refText, "#"):
			c.fail(n.refPath, "%s leads outside of the document; allowed: #, #/path, #anchor", show(n.refText))
		default:
			c.fail(n.refPath, "%s leads to no schema of the document", show(n.refText))
		}
	}
}

func (c *compiler) target(ref string) *node {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok && ref != "" {
		return nil
	}
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	if fragment == "" || fragment[0] == '/' {
		return c.nodes[fragment]
	}
	return c.anchors[fragment]
}

// refuseLoops finds subschemas that apply themselves to the same value, which
// no check would ever leave.
func (c *compiler) refuseLoops() {
	const (
		open = 1
		done = 2
	)
	seen := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		switch seen[n] {
		case open:
			return false
		case done:
			return true
		}
		seen[n] = open
		for _, sub := range n.inPlace() {
			if !visit(sub) {
				return false
			}
		}
		seen[n] = done
		return true
	}
	for _, n := range c.order {
		if n.refPath != nil && !visit(n) {
			c.fail(n.refPath, "%s leads back to itself without a step into the value", show(n.refText))
			return
		}
	}
}

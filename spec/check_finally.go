// The rules about `finally`: its nodes stand on no edge and wait for nobody.

package spec

import "slices"

// checkFinally reports nodes of `finally` that something else leads to, that would lead on, or
// that can't run when the end of the run is decided.
func (c *graphChecker) checkFinally() {
	g := c.graph
	if len(g.Finally) == 0 {
		return
	}
	for i, name := range g.Finally {
		if slices.ContainsFunc(g.Finally[:i], func(t Text) bool { return t.Value == name.Value }) {
			c.report("invalid-value", name.At(0, len(name.Value)), "%q is listed twice; a node of finally runs once", name.Value)
		}
		if n := g.nodes[name.Value]; n != nil {
			c.checkFinalNode(n)
		}
	}
	for _, e := range g.Edges {
		for _, end := range [...]Text{e.From, e.To} {
			if n := g.nodes[end.Value]; e.Decl >= 0 && n != nil && n.Final {
				c.report("invalid-value", end.At(0, len(end.Value)), "%q stands in finally and so on no edge: it runs when the end of the run is decided", end.Value)
			}
		}
	}
	for _, r := range g.references() {
		if n := g.nodes[r.name.Value]; r.key != "finally" && n != nil && n.Final {
			c.report("invalid-value", r.name.At(0, len(r.name.Value)), "%q can't stand in %q: it runs in finally, when the end of the run is decided", r.name.Value, r.key)
		}
	}
}

// checkFinalNode reports what a node of finally can't be or have.
func (c *graphChecker) checkFinalNode(n *Node) {
	if n.Kind.Value == "human" {
		c.report("invalid-value", n.Kind.Span, "%q can't ask a person: it runs in finally, when the end of the run is decided", n.ID.Value)
	}
	for _, key := range []string{"goto", "ends", "join", "routing", "max_visits"} {
		if v := n.Written(key); v != nil && v.Text.Value != "first" {
			c.report("invalid-value", n.ID.Span, "%q can't have %q: it runs in finally, on no edge and once", n.ID.Value, key)
		}
	}
}

// The rules about `finally`.

package spec

import "slices"

// checkFinally reports nodes of `finally` that have edges, are named elsewhere, or can't run when
// the end of the run is decided.
func (c *graphChecker) checkFinally() {
	g := c.graph
	isFinal := func(t Text) bool { return g.nodes[t.Value] != nil && g.nodes[t.Value].Final }
	for i, name := range g.Finally {
		if slices.ContainsFunc(g.Finally[:i], func(t Text) bool { return t.Value == name.Value }) {
			c.report("invalid-value", name.At(0, len(name.Value)), "%q is listed twice; a node of finally runs once", name.Value)
		}
		if isFinal(name) {
			c.checkFinalNode(g.nodes[name.Value])
		}
	}
	for _, e := range g.Edges {
		for _, end := range [...]Text{e.From, e.To} {
			if e.Decl >= 0 && isFinal(end) {
				c.report("invalid-value", end.At(0, len(end.Value)), "%q stands in finally and so on no edge: it runs when the end of the run is decided", end.Value)
			}
		}
	}
	for _, r := range g.namedNodes() {
		if r.key != "finally" && isFinal(r.name) {
			c.report("invalid-value", r.name.At(0, len(r.name.Value)), "%q can't stand in %q: it runs in finally, when the end of the run is decided", r.name.Value, r.key)
		}
	}
}

// checkFinalNode reports a kind or a key that a node of finally can't have.
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

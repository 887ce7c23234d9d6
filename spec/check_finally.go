// The rules about `finally`: its nodes stand on no edge and wait for nobody.

package spec

import "slices"

// finals reports nodes of `finally` that something else leads to, or that would
// lead on, and such that can't run when the end of the run is decided.
func (c *graphChecker) finals() {
	g := c.graph
	if len(g.Finally) == 0 {
		return
	}
	for i, name := range g.Finally {
		if slices.ContainsFunc(g.Finally[:i], func(t Text) bool { return t.Value == name.Value }) {
			c.report("invalid-value", name.At(0, len(name.Value)), "%q is listed twice; a node of finally runs once", name.Value)
		}
		if n := g.nodes[name.Value]; n != nil {
			c.final(n)
		}
	}
	for _, e := range g.Edges {
		for _, end := range [...]Text{e.From, e.To} {
			if n := g.nodes[end.Value]; e.Decl >= 0 && n != nil && n.Final {
				c.report("invalid-value", end.At(0, len(end.Value)), "%q stands in finally and so on no edge: it runs when the end of the run is decided", end.Value)
			}
		}
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			c.notFinal(end.Target, "ends")
		}
	}
	c.notFinal(g.Start, "start")
	for _, list := range [...]struct {
		key   string
		names []Text
	}{{"finish", g.Finish}, {"pause_before", g.PauseBefore}, {"pause_after", g.PauseAfter}} {
		for _, name := range list.names {
			c.notFinal(name, list.key)
		}
	}
}

// notFinal reports a node of finally where a key needs one that edges lead to.
func (c *graphChecker) notFinal(name Text, key string) {
	if n := c.graph.nodes[name.Value]; n != nil && n.Final {
		c.report("invalid-value", name.At(0, len(name.Value)), "%q can't stand in %q: it runs in finally, when the end of the run is decided", name.Value, key)
	}
}

// final reports what a node of finally can't be or have.
func (c *graphChecker) final(n *Node) {
	if n.Kind.Value == "human" {
		c.report("invalid-value", n.Kind.Span, "%q can't ask a person: it runs in finally, when the end of the run is decided", n.ID.Value)
	}
	for _, key := range [...]struct {
		name string
		has  bool
	}{
		{"goto", n.Goto.IsSet()},
		{"ends", n.HasEnds},
		{"join", n.Join != nil},
		{"routing", n.Routing != "first"},
		{"max_visits", n.MaxVisits > 0},
	} {
		if key.has {
			c.report("invalid-value", n.ID.Span, "%q can't have %q: it runs in finally, on no edge and once", n.ID.Value, key.name)
		}
	}
}

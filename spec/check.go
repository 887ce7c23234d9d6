// The rules for whole graphs: unknown names, keys that do not fit together, nodes of `finally`.

package spec

import (
	"fmt"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/suggest"
)

// Check reports parts of a graph that do not fit together: unknown nodes and state keys, nodes without
// an entry or exit, cycles without an exit. It ignores conditions, and does not report consequences of
// other findings. The graph may be incomplete. Check does not change it.
func Check(g *Graph) Diagnostics {
	c := &graphChecker{
		reporter: reporter{file: g.File}, graph: g,
		nodeNames: newNameSet(g.Nodes, func(n *Node) string { return n.ID.Value }),
		keyNames:  newNameSet(g.State, func(k *StateKey) string { return k.Name.Value }),
	}
	for _, list := range []struct {
		key   string
		names []Text
	}{{"start", []Text{g.Start}}, {"finish", g.Finish}, {"pause_before", g.PauseBefore}, {"pause_after", g.PauseAfter}, {"finally", g.Finally}} {
		for _, name := range list.names {
			c.checkReference(name, list.key)
		}
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			c.checkReference(end.Target, "ends")
		}
		c.checkKeysOfNode(n)
		c.checkStateKeys(n)
	}
	if g.Cache != nil {
		c.checkStateNames(g.Cache.Keys)
	}
	c.checkEdges()
	c.checkRepeatedEdges()
	c.reportRepeated(g.Finally, "a node of finally runs once")
	c.checkStructure()
	c.checkInnerGraphs()
	for _, inner := range g.Graphs {
		c.diags = append(c.diags, Check(inner)...)
	}
	return c.diags.Sort()
}

// graphChecker holds the state of one call of Check.
type graphChecker struct {
	reporter
	graph     *Graph
	nodeNames func() nameSet
	keyNames  func() nameSet
	dangling  bool // an edge or an end names an unknown node
}

// nameSet holds the names that a reference may use.
type nameSet struct {
	*suggest.Finder
	list string // the first dozen names
}

// newNameSet returns a function that collects names on its first call, which only a wrong name causes.
func newNameSet[T any](list []T, nameOf func(T) string) func() nameSet {
	return sync.OnceValue(func() nameSet {
		const most = 12
		names := collectNames(list, nameOf)
		text := strings.Join(names[:min(most, len(names))], ", ")
		if len(names) > most {
			text += fmt.Sprintf(" and %d more", len(names)-most)
		}
		return nameSet{suggest.New(names), text}
	})
}

// checkReference reports a name in a key if it is not the name of a node, or if the key can't name that node.
func (c *graphChecker) checkReference(name Text, key string) {
	if !name.IsSet() {
		return
	}
	isKnown, n := c.checkNode(name, key == "ends"), c.graph.nodes[name.Value]
	c.dangling = c.dangling || !isKnown && key == "ends"
	switch {
	case n == nil || key != "finish":
	case n.Goto.IsSet() || n.HasEnds:
		c.report("invalid-value", name.Span, "%q can't be in \"finish\": it chooses its target itself, by goto or ends", n.ID.Value)
	case n.Kind.Value == "fail":
		c.report("invalid-value", name.Span, "%q can't be in \"finish\": a fail node is terminal", n.ID.Value)
	}
	if n != nil && n.Final && key != "finally" {
		c.report("invalid-value", name.At(0, len(name.Value)), "%q can't stand in %q: it runs in finally, when the end of the run is decided", n.ID.Value, key)
	}
}

// checkKeysOfNode reports keys of a node that do not fit together.
func (c *graphChecker) checkKeysOfNode(n *Node) {
	if n.Final && n.Kind.Value == "human" {
		c.report("invalid-value", n.Kind.Span, "%q can't ask a person: it runs in finally, when the end of the run is decided", n.ID.Value)
	}
	for _, key := range []string{"goto", "ends", "join", "routing", "max_visits"} {
		if v := n.ValueOf(key); n.Final && v != nil && v.Text.Value != "first" {
			c.report("invalid-value", n.ID.Span, "%q can't have %q: it runs in finally, on no edge and once", n.ID.Value, key)
		}
	}
	if n.Kind.Value == "fail" && (n.Goto.IsSet() || n.HasEnds) {
		c.report("invalid-value", n.ID.Span, "%q can't have goto or ends: a fail node is terminal", n.ID.Value)
	}
	if j := n.Join; j != nil && j.Wait == "any" && j.OnBypass.IsSet() && j.IsValid() {
		c.report("invalid-value", j.OnBypass.Span, "on_bypass belongs to wait: all or a number; %q waits for any branch, so that none can bypass it", n.ID.Value)
	}
	if f := findField(n.written, "max_concurrency"); f == nil || n.MaxConcurrency == 0 {
		return
	} else if !n.Each.IsSet() {
		c.report("invalid-value", f.Key.Span, "\"max_concurrency\" is for the elements of \"each\", and %q has none; the graph's stands in \"limits\"", n.ID.Value)
	} else if n.Kind.Value == "human" {
		c.report("invalid-value", f.Key.Span, "%q asks for all elements at once: people wait for nobody", n.ID.Value)
	}
}

// checkNode reports a name that is not a node and returns false. If end is set, END is allowed, too.
func (c *graphChecker) checkNode(t Text, end bool) bool {
	switch {
	case end && t.Value == END, c.graph.nodes[t.Value] != nil:
		return true
	case len(c.graph.Nodes) == 0:
		return false
	case isReserved(t.Value):
		detail, suggestion := "expected the name of a node", ""
		if strings.EqualFold(strings.Trim(t.Value, "_"), "start") {
			detail = "the first node is named by the key \"start\""
		} else if end {
			detail, suggestion = "the end is written END", END
		}
		c.report("reserved-name", t.At(0, len(t.Value)), "%q is not a node; %s", t.Value, detail).Suggestion = suggestion
		return false
	}
	near := c.nodeNames().Closest(t.Value)
	if end && (strings.EqualFold(t.Value, END) || near == "" && findNearest(t.Value, []string{END}) != "") {
		near = END
	}
	detail := "; nodes are " + c.nodeNames().list
	if isExtension(t.Value) {
		detail = ": keys that begin with \"x-\" are ignored"
	}
	c.reportUnknown("unknown-node", t, "a node of this graph", detail, near)
	return false
}

// reportUnknown reports a name. The message ends in detail if there is no similar name.
func (c *graphChecker) reportUnknown(rule string, t Text, what, detail, near string) {
	if near != "" {
		detail = ""
	}
	c.report(rule, t.At(0, len(t.Value)), "%q is not %s%s", t.Value, what, detail).Suggestion = near
}

// indexOf returns the index of a node, or the value of otherwise for END and for an unknown name.
func (c *graphChecker) indexOf(t Text, otherwise int) int {
	if n := c.graph.nodes[t.Value]; n != nil {
		return n.Index
	}
	return otherwise
}

// checkEdges reports edges from or to nodes that can't have them, and edges that `finish` makes redundant.
func (c *graphChecker) checkEdges() {
	finish := map[string]bool{}
	for _, f := range c.graph.Finish {
		finish[f.Value] = true
	}
	for _, e := range c.graph.Edges {
		if e.Decl < 0 {
			continue
		}
		from, to := c.graph.nodes[e.From.Value], c.checkNode(e.To, true)
		switch {
		case e.From.Value == END || e.From.Value == "__end__":
			c.report("edge-from-end", e.From.Span, "no edge can leave %s: a branch is over there", e.From.Value)
		case from == nil:
			c.dangling = true
			c.checkNode(e.From, false)
		case from.Kind.Value == "fail":
			c.report("invalid-value", e.From.Span, "no edge can leave %q: a fail node is terminal", e.From.Value)
		}
		c.dangling = c.dangling || !to
		for _, end := range [...]Text{e.From, e.To} {
			if n := c.graph.nodes[end.Value]; n != nil && n.Final {
				c.report("invalid-value", end.At(0, len(end.Value)), "%q stands in finally and so on no edge: it runs when the end of the run is decided", end.Value)
			}
		}
		if finish[e.From.Value] && (e.Condition == "on_success" || e.Condition == "always") {
			c.report("invalid-value", e.From.Span, "%q is in \"finish\" and can have no other unconditional edge; remove the edge or give it a condition", e.From.Value)
		}
	}
}

// checkRepeatedEdges reports a second fallback edge of a node, and warns of edges that always fire together.
func (c *graphChecker) checkRepeatedEdges() {
	type identity struct{ from, to, condition, when string }
	fallbacks, edges := map[string]*Edge{}, make(map[identity]*Edge, len(c.graph.Edges))
	for _, e := range c.graph.Edges {
		if first := fallbacks[e.From.Value]; e.Fallback && first != nil {
			c.report("invalid-value", e.To.Span, "%q has a second fallback edge; one is allowed", e.From.Value)
			c.addRelated(first.To.Span, "the first is here")
		} else if e.Fallback {
			fallbacks[e.From.Value] = e
		}
		id := identity{e.From.Value, e.To.Value, e.Condition, strings.TrimSpace(e.When.Value)}
		if first := edges[id]; first == nil {
			edges[id] = e
		} else if e.Decl >= 0 { // checkEdges reports the others
			c.report("duplicate-edge", e.To.Span, "a second edge from %q to %q with the same condition", e.From.Value, e.To.Value).Severity = Warning
			c.addRelated(first.To.Span, "the first is here")
		}
	}
}

// checkStateKeys reports undeclared state keys in a node.
func (c *graphChecker) checkStateKeys(n *Node) {
	c.checkStateNames(n.Reads)
	c.checkStateNames(n.Writes.Keys)
	for _, write := range n.Writes.Exprs {
		c.checkStateNames([]Text{write.Name})
	}
	if n.Cache != nil {
		c.checkStateNames(n.Cache.Keys)
	}
	if n.Decide != nil {
		c.checkStateNames(n.Decide.See)
	}
	if n.Kind.Value == "set" {
		for _, f := range n.Field("set").Entries() {
			c.checkStateNames([]Text{f.Key})
		}
	}
}

// checkStateNames reports names of undeclared state keys, unless the graph allows them.
func (c *graphChecker) checkStateNames(names []Text) {
	for _, name := range names {
		if !c.graph.StrictState || c.graph.keys[name.Value] != nil {
			continue
		}
		near, detail := c.keyNames().Closest(name.Value), "; declare it under \"state\""
		if near == "" && len(c.graph.State) > 0 {
			detail = "; declared are " + c.keyNames().list
		}
		c.report("unknown-state-key", name.At(0, len(name.Value)), "%q is not a declared state key%s", name.Value, detail).Suggestion = near
	}
}

// checkInnerGraphs reports nodes and tools that name unknown graphs of the file.
func (c *graphChecker) checkInnerGraphs() {
	var refs []*Value
	for _, n := range c.graph.Nodes {
		if n.Kind.Value == "graph" {
			refs = append(refs, n.Field("graph"))
		}
	}
	for i := range c.graph.Tools {
		refs = append(refs, c.graph.Tools[i].Value.Get("graph"))
	}
	names := newNameSet(c.graph.FileGraph().Graphs, (*Graph).Ref)
	for _, v := range refs {
		if v == nil || v.Kind != String || !strings.HasPrefix(v.Text.Value, "#") || c.graph.InnerGraph(v.Text.Value) != nil {
			continue
		}
		detail := "; the file has no graphs"
		if names().list != "" {
			detail = "; graphs are " + names().list
		}
		c.reportUnknown("subgraph-missing", v.Text, "a graph of this file", detail, names().Closest(v.Text.Value))
	}
}

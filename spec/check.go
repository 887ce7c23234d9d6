// The rules over a whole graph: names that must exist, ways out, cycles.

package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// Check reports where the parts of a graph do not fit each other: names of no
// node or state key, nodes without a way out or in, cycles without an exit,
// literals of a wrong type. It looks at nodes and edges, never at conditions,
// and says nothing of what is only the consequence of an earlier finding. The
// graph may be incomplete; it is not changed.
func Check(g *Graph) Diagnostics {
	c := &graphChecker{reporter: reporter{file: g.File}, graph: g}
	c.names()
	c.resolve()
	c.edges()
	c.finishes()
	c.finals()
	c.fallbacks()
	c.duplicates()
	c.stateKeys()
	c.literals()
	c.structure()
	c.innerGraphs()
	for _, inner := range g.Graphs {
		c.diags = append(c.diags, Check(inner)...)
	}
	return c.diags.Sort()
}

// graphChecker belongs to one call of Check.
type graphChecker struct {
	reporter
	graph     *Graph
	from, to  []int           // of each edge: the indices of its nodes, -1 for no node
	nodeNames *suggest.Finder // nil until a name is wrong
	keyNames  *suggest.Finder
	known     string // the nodes, as messages list them
	declared  string // the state keys, likewise
	lost      bool   // an edge leaves from or leads to no node
}

// names reports references to nodes that do not exist, outside of edges.
func (c *graphChecker) names() {
	g := c.graph
	if g.Start.IsSet() {
		c.node(g.Start, false)
	}
	for _, list := range [][]Text{g.Finish, g.PauseBefore, g.PauseAfter, g.Finally} {
		for _, t := range list {
			c.node(t, false)
		}
	}
	for _, n := range g.Nodes {
		if n.Kind.Value == "fail" && (n.Goto.IsSet() || n.HasEnds) {
			c.report("invalid-value", n.ID.Span, "%q can't have goto or ends: a fail node is terminal", n.ID.Value)
		}
		if j := n.Join; j != nil && j.Wait == "any" && j.OnBypass.IsSet() && j.Valid() {
			c.report("invalid-value", j.OnBypass.Span, "on_bypass belongs to wait: all or a number; %q waits for any branch, so that none can bypass it", n.ID.Value)
		}
		c.atOnce(n)
		for _, end := range n.Ends {
			if !c.node(end.Target, true) {
				c.lost = true
			}
		}
	}
}

// node reports a name that is no node; end allows END.
func (c *graphChecker) node(t Text, end bool) bool {
	switch {
	case end && t.Value == END, c.graph.nodes[t.Value] != nil:
		return true
	case c.graph.gaps&gapNodes != 0 && len(c.graph.Nodes) == 0:
		return false
	case isReserved(t.Value):
		c.reserved(t, end)
		return false
	}
	near := c.nearNode(t.Value)
	if end && (strings.EqualFold(t.Value, END) || near == "" && nearest(t.Value, []string{END}) != "") {
		near = END
	}
	detail := "; nodes are " + c.knownNodes()
	switch {
	case near != "":
		detail = ""
	case isExtension(t.Value):
		detail = ": keys that begin with \"x-\" are ignored"
	}
	c.report("unknown-node", t.At(0, len(t.Value)), "%q is no node of this graph%s", t.Value, detail)
	c.suggest(near)
	return false
}

// reserved explains why an end of the graph can't be named at a place.
func (c *graphChecker) reserved(t Text, end bool) {
	message, suggestion := fmt.Sprintf("%q is no node", t.Value), ""
	switch {
	case strings.EqualFold(strings.Trim(t.Value, "_"), "start"):
		message += "; the first node is named by the key \"start\""
	case end:
		message, suggestion = message+"; the end is written END", END
	default:
		message += "; expected the name of a node"
	}
	c.report("reserved-name", t.At(0, len(t.Value)), "%s", message)
	c.suggest(suggestion)
}

func (c *graphChecker) nearNode(name string) string {
	if c.nodeNames == nil {
		names := make([]string, 0, len(c.graph.Nodes))
		for _, n := range c.graph.Nodes {
			names = append(names, n.ID.Value)
		}
		c.nodeNames = suggest.New(names)
	}
	return c.nodeNames.Closest(name)
}

// knownNodes lists the nodes, at most a dozen.
func (c *graphChecker) knownNodes() string {
	const most = 12
	if c.known != "" {
		return c.known
	}
	names := make([]string, 0, len(c.graph.Nodes))
	for _, n := range c.graph.Nodes {
		names = append(names, n.ID.Value)
	}
	slices.Sort(names)
	c.known = strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		c.known += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return c.known
}

// resolve finds the nodes that edges speak of.
func (c *graphChecker) resolve() {
	edges := c.graph.Edges
	both := make([]int, 2*len(edges))
	c.from, c.to = both[:len(edges)], both[len(edges):]
	for i, e := range edges {
		c.from[i], c.to[i] = c.index(e.From), c.index(e.To)
	}
}

func (c *graphChecker) index(t Text) int {
	if n := c.graph.nodes[t.Value]; n != nil {
		return n.Index
	}
	return -1
}

// edges reports ends of edges that are no node, and edges that leave an end.
func (c *graphChecker) edges() {
	for i, e := range c.graph.Edges {
		if e.Decl < 0 {
			continue
		}
		from, to := true, c.to[i] >= 0 || c.node(e.To, true)
		switch {
		case e.From.Value == END || e.From.Value == "__end__":
			c.report("edge-from-end", e.From.Span, "no edge can leave %s: a branch is over there", e.From.Value)
		case c.from[i] < 0:
			from = c.node(e.From, false)
		}
		c.lost = c.lost || !from || !to
		if c.from[i] >= 0 && c.graph.Nodes[c.from[i]].Kind.Value == "fail" {
			c.report("invalid-value", e.From.Span, "no edge can leave %q: a fail node is terminal", e.From.Value)
		}
	}
}

// finishes reports nodes of the finish list that go on all the same.
func (c *graphChecker) finishes() {
	finish := map[string]bool{}
	for _, f := range c.graph.Finish {
		finish[f.Value] = true
		switch n := c.graph.nodes[f.Value]; {
		case n == nil:
		case n.Goto.IsSet() || n.HasEnds:
			c.report("invalid-value", f.Span, "%q can't be in \"finish\": it chooses its target itself, by goto or ends", f.Value)
		case n.Kind.Value == "fail":
			c.report("invalid-value", f.Span, "%q can't be in \"finish\": a fail node is terminal", f.Value)
		}
	}
	for _, e := range c.graph.Edges {
		if e.Decl >= 0 && finish[e.From.Value] && (e.Condition == "on_success" || e.Condition == "always") {
			c.report("invalid-value", e.From.Span, "%q is in \"finish\" and can have no other unconditional edge; remove the edge or give it a condition", e.From.Value)
		}
	}
}

// fallbacks reports a second fallback edge of a node.
func (c *graphChecker) fallbacks() {
	first := map[string]*Edge{}
	for _, e := range c.graph.Edges {
		if !e.Fallback {
			continue
		}
		if earlier := first[e.From.Value]; earlier != nil {
			c.report("invalid-value", e.To.Span, "%q has a second fallback edge; one is allowed", e.From.Value)
			c.diags[len(c.diags)-1].Related = []Related{{File: c.file, Span: earlier.To.Span, Message: "the first is here"}}
			continue
		}
		first[e.From.Value] = e
	}
}

// duplicates warns of two edges that always fire together.
func (c *graphChecker) duplicates() {
	type identity struct{ from, to, condition, when string }
	first := make(map[identity]*Edge, len(c.graph.Edges))
	for _, e := range c.graph.Edges {
		id := identity{e.From.Value, e.To.Value, e.Condition, strings.TrimSpace(e.When.Value)}
		earlier := first[id]
		if earlier == nil {
			first[id] = e
			continue
		}
		if e.Decl < 0 {
			continue // reported by finishes
		}
		c.diags = append(c.diags, Diagnostic{
			File: c.file, Rule: "duplicate-edge", Severity: Warning, Span: e.To.Span,
			Message: fmt.Sprintf("a second edge from %q to %q with the same condition", e.From.Value, e.To.Value),
			Related: []Related{{File: c.file, Span: earlier.To.Span, Message: "the first is here"}},
		})
	}
}

// Graphs within a file: the entries of `graphs`, which `#name` refers to.

package spec

import (
	"slices"
	"strconv"
	"strings"
)

// MaxDepth is the most graphs that may run inside each other, counting the outermost one.
const MaxDepth = 32

// TooDeepMessage returns the message for a subgraph beyond MaxDepth; name is the node's `graph`.
func TooDeepMessage(name string) string {
	return "subgraph " + strconv.Quote(name) + " is nested too deep: at most " + strconv.Itoa(MaxDepth) + " graphs may run inside each other"
}

// Whole returns the graph of the file that holds this graph, often itself.
func (g *Graph) Whole() *Graph {
	if g.whole != nil {
		return g.whole
	}
	return g
}

// Ref returns the name by which nodes run a graph within a file, "#name", or "" for the graph
// of the file.
func (g *Graph) Ref() string {
	if g.whole == nil {
		return ""
	}
	return "#" + g.Entry.Value
}

// Inner returns the graph of the file that "#name" refers to, or nil.
func (g *Graph) Inner(ref string) *Graph {
	name, isRef := strings.CutPrefix(ref, "#")
	if !isRef {
		return nil
	}
	all := g.Whole().Graphs
	if i := slices.IndexFunc(all, func(inner *Graph) bool { return inner.Entry.Value == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Span returns the place of the graph in its file.
func (g *Graph) Span() Span {
	if g.whole == nil {
		return Span{0, len(g.File.Src)}
	}
	return g.span
}

// Text returns the source of the graph: its file, or its entry in one, followed by the texts
// of other files that it includes.
func (g *Graph) Text() []byte {
	at := g.Span()
	out := slices.Clip(g.File.Src[at.From:at.To])
	for _, t := range g.File.texts {
		if at.From <= t.at.From && t.at.To <= at.To {
			out = append(append(out, 0), t.Src...) // no text holds this byte
		}
	}
	return out
}

// refers lists the places of nodes and tools that name a graph to run.
func (g *Graph) refers() []Text {
	var out []Text
	for _, n := range g.Nodes {
		if v := n.Field("graph"); n.Kind.Value == "graph" && v != nil && v.Kind == String {
			out = append(out, v.Text)
		}
	}
	for i := range g.Tools {
		if v := g.Tools[i].Value.Get("graph"); v != nil && v.Kind == String {
			out = append(out, v.Text)
		}
	}
	return out
}

// innerGraphs reports references to graphs that the file does not have.
func (c *graphChecker) innerGraphs() {
	whole := c.graph.Whole()
	for _, t := range c.graph.refers() {
		if !strings.HasPrefix(t.Value, "#") || c.graph.Inner(t.Value) != nil {
			continue
		}
		names := make([]string, len(whole.Graphs))
		for i, inner := range whole.Graphs {
			names[i] = inner.Ref()
		}
		slices.Sort(names)
		near, detail := nearest(t.Value, names), "; the file has no graphs"
		switch {
		case near != "":
			detail = ""
		case len(names) > 0:
			detail = "; graphs are " + strings.Join(names, ", ")
		}
		c.report("subgraph-missing", t.At(0, len(t.Value)), "%q is no graph of this file%s", t.Value, detail)
		c.suggest(near)
	}
}

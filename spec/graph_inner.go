// Graphs within a file: the entries of `graphs`, which nodes name as `#name`.

package spec

import (
	"slices"
	"strconv"
	"strings"
)

// MaxDepth is the highest number of graphs that may run inside each other, with the outermost one.
const MaxDepth = 32

// TooDeepMessage returns the message for a subgraph beyond MaxDepth. name is the node's `graph`.
func TooDeepMessage(name string) string {
	return "subgraph " + strconv.Quote(name) + " is nested too deep: at most " + strconv.Itoa(MaxDepth) + " graphs may run inside each other"
}

// Whole returns the graph of the file that holds this graph.
func (g *Graph) Whole() *Graph {
	if g.whole != nil {
		return g.whole
	}
	return g
}

// Ref returns "#name" for a graph within a file, or "" for the graph of the file.
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
	for _, inner := range g.Whole().Graphs {
		if inner.Entry.Value == name {
			return inner
		}
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

// Text returns the source of the graph, its file or entry, followed by the texts of other files that it
// includes.
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
	names := &nameSet{}
	for _, inner := range c.graph.Whole().Graphs {
		names.names = append(names.names, inner.Ref())
	}
	for _, v := range refs {
		if v == nil || v.Kind != String || !strings.HasPrefix(v.Text.Value, "#") || c.graph.Inner(v.Text.Value) != nil {
			continue
		}
		near, detail := names.findNearest(v.Text.Value), "; the file has no graphs"
		switch {
		case near != "":
			detail = ""
		case len(names.names) > 0:
			detail = "; graphs are " + names.listNames()
		}
		c.report("subgraph-missing", v.At(0, len(v.Text.Value)), "%q is not a graph of this file%s", v.Text.Value, detail)
		c.suggest(near)
	}
}

// The nodes of finally: they run whatever the run has come to, and so know little.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// finalPeople reports nodes of finally whose subgraph asks a person: nobody is
// waited for when the end of the run is decided. That a node asks by itself says
// spec.Check.
func (f *facts) finalPeople() {
	for _, n := range f.graph.Nodes {
		name := text(n, "graph")
		if !n.Final || n.Kind.Value != "graph" || !name.IsSet() {
			continue
		}
		if who, at := f.asks(f.graph, "", name.Value, map[*spec.Graph]bool{}); who != nil {
			d := f.report(n.ID.Span, "%q can't run a subgraph that asks a person (%q): it runs in finally, when the end of the run is decided", n.ID.Value, who.ID.Value)
			d.Related = append(d.Related, spec.Related{File: at, Span: who.Kind.Span, Message: "it is asked here"})
		}
	}
}

// asks is the first node of a subgraph, and of those that it runs, that asks a
// person, and the file in which it stands; nil when there is none.
func (f *facts) asks(g *spec.Graph, file, name string, seen map[*spec.Graph]bool) (who *spec.Node, at *spec.File) {
	c := f.subgraphs().Load(g, file, name)
	if c == nil || c.Graph == nil || seen[c.Graph] {
		return nil, nil
	}
	seen[c.Graph] = true
	for _, n := range c.Graph.Nodes {
		if n.Kind.Value == "human" {
			return n, c.Graph.File
		}
		if inner := text(n, "graph"); n.Kind.Value == "graph" && inner.IsSet() {
			if who, at := f.asks(c.Graph, c.File, inner.Value, seen); who != nil {
				return who, at
			}
		}
	}
	return nil, nil
}

// readsTooMuch reports a state key or a node's output that a node of finally needs,
// although the run may end before anything makes it. It reports whether a use
// stands in such a node.
func (f *facts) readsTooMuch(m *made, u *dataflow.Use, seen func(thing int) bool) bool {
	if u.Node < 0 || !f.graph.Nodes[u.Node].Final {
		return false
	}
	for _, r := range m.firmly(u) {
		thing, what := f.asked(m, u, r)
		if thing < 0 || f.madeByFinally(u, r) || seen(thing) {
			continue
		}
		remedy := "read it as optional"
		if _, isKey := f.keyOf[r.Path[0]]; isKey {
			remedy = "give it a default, or " + remedy
		}
		d := f.report(u.SpanOf(r.Path[0]), "%s may not be there yet: finally runs however the run ends, also before anything has made it; %s", quoteKey(what), remedy)
		if written := f.writtenAt(m, thing); written != nil {
			d.Related = append(d.Related, f.related(*written, "it is made here"))
		}
	}
	return true
}

// madeByFinally reports whether nothing but nodes of finally before it, all of
// which succeed, come between a use and what it reads.
func (f *facts) madeByFinally(u *dataflow.Use, r eval.Read) bool {
	key, isKey := f.keyOf[r.Path[0]]
	if !isKey {
		return false
	}
	for _, name := range f.graph.Finally {
		n := f.graph.Node(name.Value)
		if n == nil || n.Index == u.Node {
			return n != nil && u.Moment != dataflow.Before && f.alwaysWrites(n, key)
		}
		if n.Kind.Value == "set" && f.alwaysWrites(n, key) { // others may fail
			return true
		}
	}
	return false
}

func (f *facts) alwaysWrites(n *spec.Node, key int) bool {
	return slices.ContainsFunc(f.always(n.Index), func(w dataflow.Write) bool { return w.Key == key })
}

// finallyCalls adds the model calls of the nodes of finally, which are no steps:
// each runs once, whatever way the run took.
func (w *boundWalk) finallyCalls(out *Bounds) {
	for v, n := range w.f.graph.Nodes {
		if n.Final {
			most := w.costs[v].most
			out.LLMCalls.Max += most[inCalls]
			out.Tokens.Max += most[inTokens]
			out.CostUSD.Max += most[inUSD]
		}
	}
}

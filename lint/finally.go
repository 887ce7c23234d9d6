// The nodes of finally: they run whatever the run has come to, and so know little.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// readsTooMuch reports a state key or a node's output that a node of finally needs,
// although the run may end before anything makes it. It reports whether a use
// stands in such a node.
func (f *facts) readsTooMuch(m *made, u *use, seen func(thing int) bool) bool {
	if u.node < 0 || !f.graph.Nodes[u.node].Final {
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
		d := f.report(u.spanOf(r.Path[0]), "%s may not be there yet: finally runs however the run ends, also before anything has made it; %s", quoteKey(what), remedy)
		if written := f.writtenAt(m, thing); written != nil {
			d.Related = append(d.Related, f.related(*written, "it is made here"))
		}
	}
	return true
}

// madeByFinally reports whether nothing but nodes of finally before it, all of
// which succeed, come between a use and what it reads.
func (f *facts) madeByFinally(u *use, r eval.Read) bool {
	key, isKey := f.keyOf[r.Path[0]]
	if !isKey {
		return false
	}
	for _, name := range f.graph.Finally {
		n := f.graph.Node(name.Value)
		if n == nil || n.Index == u.node {
			return n != nil && u.moment != before && f.alwaysWrites(n, key)
		}
		if n.Kind.Value == "set" && f.alwaysWrites(n, key) { // others may fail
			return true
		}
	}
	return false
}

func (f *facts) alwaysWrites(n *spec.Node, key int) bool {
	return slices.ContainsFunc(f.always(n.Index), func(w write) bool { return w.key == key })
}

// finallyCalls adds the model calls of the nodes of finally, which are no steps:
// each runs once, whatever way the run took.
func (w *boundWalk) finallyCalls(out *Bounds) {
	for v, n := range w.f.graph.Nodes {
		if n.Final {
			out.LLMCalls.Max += w.costs[v].most[inCalls]
		}
	}
}

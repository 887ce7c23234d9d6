// How often a node can run, for the policies that limit it.

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// atMost asks for a cycle through the place that nothing bounds, then for a run
// in which visit and step conditions let it go round too often.
func (f *facts) atMost(p *policy) {
	n := f.graph.Nodes[p.place]
	if limit := n.VisitLimit(f.graph); limit > 0 && limit <= p.limit {
		return
	}
	if cycle := cycleThrough(f.openCycles(p.place, true).left(), p.place); cycle != nil {
		if f.witness(p, nil, nil) != nil {
			f.report(p.at.Span, "%q can run more than %s: nothing bounds the cycle %s", n.ID.Value, plural(p.limit, "time"), f.pathText(cycle))
		}
		return
	}
	if !f.flow().Cyclic[p.place] {
		return
	}
	var path []int
	if !f.boundedByState(p.place) {
		path = f.witness(p, nil, nil)
	}
	if path == nil {
		keys := f.writtenAround(p.place)
		if len(f.graph.Edges) <= maxRankedTwice && cycleThrough(f.openCycles(p.place, false).left(), p.place) == nil { // the graph's own counting ends them
			maps.DeleteFunc(keys, func(key string, _ bool) bool {
				return slices.ContainsFunc(f.writersOf()[key], func(n *spec.Node) bool { return n.Kind.Value != "set" })
			})
		}
		path = f.trusting(p, keys, nil)
	}
	if path != nil {
		f.report(p.at.Span, "%q can run more than %s, on the path %s", n.ID.Value, plural(p.limit, "time"), f.pathText(path))
	}
}

// maxRankedTwice is how many edges a graph may have for its cycles to be ranked without
// trust, too, for each policy: that takes long where edges are many.
const maxRankedTwice = 300

// writtenAround are the state keys that nodes on the cycles of a node write and that may
// count: numbers, lists, and whatever set nodes write. What else people and programs yield
// there may be anything.
func (f *facts) writtenAround(v int) map[string]bool {
	keys := map[string]bool{}
	w := f.flow()
	for u, a := range f.access() {
		for i := range a.Writes {
			key := f.graph.State[a.Writes[i].Key]
			kind := f.wholeDomain(key).Kind
			counts := f.graph.Nodes[u].Kind.Value == "set" || kind != solve.String && kind != solve.Bool && key.Schema["type"] != "object"
			if w.SCC[u] == w.SCC[v] && counts {
				keys[a.Writes[i].Name.Value] = true
			}
		}
	}
	return keys
}

// boundedByState reports whether the cycles of a node have people, waiting,
// free choices, or conditions on what they count in the state.
func (f *facts) boundedByState(v int) bool {
	counts := f.counters()
	w := f.flow()
	for u, n := range f.graph.Nodes {
		if w.SCC[u] != w.SCC[v] {
			continue
		}
		if n.Kind.Value == "human" || n.Kind.Value == "wait" || chooses(n) {
			return true
		}
		for _, e := range f.edgesOut()[u] {
			if p := f.bound.Edges[e].When; p != nil && slices.ContainsFunc(p.Reads(), func(r eval.Read) bool { _, counted := counts[w.SCC[v]][r.Path[0]]; return counted }) {
				return true
			}
		}
	}
	return false
}

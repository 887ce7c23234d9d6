// How often a node can run, for the policies that limit it.

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/dataflow"
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
	if cycle := cycleThrough(f.rank(p.place, true).left(), p.place); cycle != nil {
		if f.canRun(p) {
			f.report(p.at.Span, "%q can run more than %s: nothing bounds the cycle %s", n.ID.Value, plural(p.limit, "time"), f.pathText(cycle))
		}
		return
	}
	path := f.tooOften(p)
	if path == nil && f.flow().Cyclic[p.place] {
		keys := f.writtenAround(p.place)
		if len(f.graph.Edges) <= maxRankedTwice && cycleThrough(f.rank(p.place, false).left(), p.place) == nil { // the graph's own counting ends them
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

// canRun reports whether a run was found in which a node runs once more than
// the policy allows.
func (f *facts) canRun(p *policy) bool {
	h := &pathSearch{f: f, through: -1, to: p.place, visits: p.limit}
	path := h.ponder(maxSearchStates)
	return (path != nil || !h.all) && f.witness(p, path, nil) != nil
}

// maxExplored bounds the states and moves that all policies of a graph
// are explored with; beyond it nothing is said.
const maxExplored = 8_000

// roomOfPolicy is how many states one policy is explored with.
const roomOfPolicy = 400

// tooOften is a run in which the place runs once more than the policy allows;
// nil when there is none or the loop is bounded by what only a run can tell:
// people, counters in the state, choices of the node itself.
func (f *facts) tooOften(p *policy) []int {
	if !f.flow().Cyclic[p.place] || f.boundedByState(p.place) {
		return nil
	}
	w, c, ok := f.countVisits(p)
	if !ok {
		return nil
	}
	via := w.reachedBy()
	for i := range w.moves {
		m := &w.moves[i]
		if !w.exceeds(m, p, c) || via[m.from] == unreached {
			continue
		}
		return f.witness(p, append(w.vertices(via, m.from), p.place), nil)
	}
	return nil
}

// visitsCounted is what came of countVisits, for a policy's node and limit.
type visitsCounted struct {
	place, limit int
	walk         *boundWalk
	by           int
	ok           bool
}

// countVisits follows every way through the graph with the visits of a policy's node
// counted, by the counter c; not ok when there are too many ways.
func (f *facts) countVisits(p *policy) (w *boundWalk, c int, ok bool) {
	if known := &f.counted; known.walk != nil && known.place == p.place && known.limit == p.limit {
		return known.walk, known.by, known.ok
	}
	share := f.stepsOfRuns() // edges take long here, too
	most := maxExplored * share / maxEvents
	if f.explored > most || p.limit >= maxCounted || !f.hasGuards() {
		return nil, 0, false
	}
	defer func() { f.counted = visitsCounted{p.place, p.limit, w, c, ok} }()
	w = &boundWalk{f: f, flow: f.flow(), known: map[string]int{}, choices: map[string][]way{}, depth: 0, room: roomOfPolicy * share / maxEvents}
	w.prepare()
	c = w.count(p.place, p.limit+1)
	w.findVariables()
	all := f.explores(w)
	if !all && len(w.vars) > 0 { // too many values
		w.vars, w.varOf = nil, nil
		all = f.explores(w)
	}
	return w, c, all && f.explored <= most
}

// explores explores a walk with room for some states only, and counts what that takes.
func (f *facts) explores(w *boundWalk) bool {
	all := w.explore()
	f.explored += len(w.queue) + len(w.moves)
	return all
}

// exceeds reports whether a policy's node runs in a move once more than it may.
func (w *boundWalk) exceeds(m *boundMove, p *policy, c int) bool {
	return m.ran == p.place && w.queue[m.from].visits[c] >= p.limit
}

// countsTo reports whether what conditions ask of visits, steps and numbers keeps a node from
// running more often than a policy allows.
func (f *facts) countsTo(p *policy) bool {
	if p.kind != "max_visits" {
		return false
	}
	w, c, ok := f.countVisits(p)
	return ok && !slices.ContainsFunc(w.moves, func(m boundMove) bool { return w.exceeds(&m, p, c) })
}

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
	counts := f.counters(false)
	w := f.flow()
	for u, n := range f.graph.Nodes {
		if w.SCC[u] != w.SCC[v] {
			continue
		}
		if n.Kind.Value == "human" || n.Kind.Value == "wait" || chooses(n) {
			return true
		}
		for _, e := range f.edgesOut()[u] {
			for _, key := range counts[w.SCC[v]] {
				if p := f.bound.Edges[e].When; p != nil && dataflow.ReadsKey(p, f.graph.State[key].Name.Value) {
					return true
				}
			}
		}
	}
	return false
}

// count makes the exploration tell visits of v apart, at least up to most.
func (w *boundWalk) count(v, most int) int {
	c, counted := w.counterOf[v]
	if !counted {
		c = len(w.counters)
		w.counterOf[v] = c
		w.counters = append(w.counters, counter{v, 0})
	}
	w.counters[c].most = max(w.counters[c].most, most)
	return c
}

// unreached and begin stand for a state's way in where there is no move.
const (
	unreached = -2
	begin     = -1
)

// reachedBy is the move of a shortest way into each state.
func (w *boundWalk) reachedBy() []int {
	via := make([]int, len(w.queue))
	for i := range via {
		via[i] = unreached
	}
	w.states = len(w.queue)
	leaving := w.leaving()
	via[w.start] = begin
	for todo := []int{w.start}; len(todo) > 0; todo = todo[1:] {
		for _, m := range leaving[todo[0]] {
			if to := w.moves[m].to; to >= 0 && via[to] == unreached {
				via[to] = m
				todo = append(todo, to)
			}
		}
	}
	return via
}

// vertices are the nodes that ran on the way into a state.
func (w *boundWalk) vertices(via []int, state int) []int {
	var out []int
	for _, m := range w.movesTo(via, state) {
		if v := w.moves[m].ran; v >= 0 {
			out = append(out, v)
		}
	}
	return out
}

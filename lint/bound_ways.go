// What may come of one execution: which edges can fire, given how often nodes
// have run.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// counter is a number of visits that guards or limits ask for. At most it
// stands for that many and more.
type counter struct{ node, most int }

// findCounters collects what guards compare visits and steps with.
func (w *boundWalk) findCounters() {
	most := map[int]int{}
	for v, limit := range w.limit {
		if limit > 0 {
			most[v] = limit
		}
	}
	for i := range w.f.graph.Edges {
		if p := w.f.bound.Edges[i].When; p != nil && (p.Uses("visits") || p.Uses("step")) {
			p.Tree().Each(func(t *eval.Tree) { w.noteComparison(t, most) })
		}
	}
	w.counterOf = map[int]int{}
	for v := range w.f.graph.Nodes {
		if n, ok := most[v]; ok {
			w.counterOf[v] = len(w.counters)
			w.counters = append(w.counters, counter{v, n})
		}
	}
}

// maxCounted is the largest number that guards may compare counters with to
// be followed.
const maxCounted = 1000

func (w *boundWalk) noteComparison(t *eval.Tree, most map[int]int) {
	if t.Op != eval.TreeBinary || len(t.Args) != 2 {
		return
	}
	for i, side := range t.Args {
		n, ok := t.Args[1-i].Value.(int)
		if !ok || side.Op != eval.TreePath || n < 0 || n > maxCounted {
			continue
		}
		switch {
		case len(side.Path) == 1 && side.Path[0] == "step":
			w.stepCap = max(w.stepCap, n+1)
		case len(side.Path) == 2 && side.Path[0] == "visits":
			if node := w.f.graph.Node(side.Path[1]); node != nil {
				most[node.Index] = max(most[node.Index], n+1)
			}
		}
	}
}

// ways are what may come of an execution of v that was not refused. succeeds says that it
// may end well, when the values are those of the state.
func (w *boundWalk) ways(v int, s *boundState, succeeds bool) []way {
	n := w.f.graph.Nodes[v]
	known := boundState{at: v}
	uses, steps := w.asks(v)
	if uses {
		known.visits, known.values = s.visits, s.values
	}
	if steps {
		known.step = s.step
	}
	key := strconv.AppendBool(known.appendKey(nil), succeeds)
	if have, ok := w.choices[string(key)]; ok {
		return have
	}
	var out []way
	if n.Kind.Value != "fail" && succeeds {
		out = w.successes(n, s)
	}
	if n.Kind.Value != "pass" || controlflow.Bypass(n) == "fail" || w.f.mayErr(v) {
		out = append(out, w.failures(n)...)
	}
	if len(out) == 0 {
		out = []way{{stops: true}}
	}
	w.choices[string(key)] = out
	return out
}

// asks reports whether the guards of a node ask for counters, and for the step.
func (w *boundWalk) asks(v int) (counters, steps bool) {
	for _, g := range w.flow.Groups[v] {
		for _, i := range g.Edges {
			if p := w.f.bound.Edges[i].When; p != nil {
				steps = steps || p.Uses("step")
				counters = counters || p.Uses("visits") || p.Uses("step") || w.asksValue(p)
			}
		}
	}
	return counters, steps
}

// successes are the groups of edges that can fire after a success.
func (w *boundWalk) successes(n *spec.Node, s *boundState) []way {
	var out []way
	guards := judgement{site: site{f: w.f, node: n}}
	var guarded []controlflow.Group
	for _, g := range w.flow.Groups[n.Index] {
		switch g.Kind {
		case controlflow.ByGoto:
			out = append(out, way{targets: g.Targets})
		case controlflow.ByGuard:
			guards.add(g.Edges)
			guarded = append(guarded, g)
		}
	}
	open := true
	if len(guarded) > 0 {
		p := solve.Problem{
			Conditions: guards.conditions, Domain: w.domain(&guards.site, s), All: n.Routing == "all",
		}
		result := w.decide(p)
		open = !result.Exhaustive
		for i, g := range guarded {
			if n.Routing != "all" && (result.Verdicts[i].Never || result.Verdicts[i].Shadowed) {
				continue
			}
			one := way{targets: g.Targets}
			if n.Routing != "all" {
				one.claims = w.outcomesUpTo(guards.conditions, i)
			}
			out = append(out, one)
		}
	}
	if open {
		for _, other := range w.fallbacks(n) {
			other.claims = w.outcomesUpTo(guards.conditions, len(guards.conditions))
			out = append(out, other)
		}
	}
	return out
}

// outcomesUpTo are those of some conditions when that of a place is the first to hold.
func (w *boundWalk) outcomesUpTo(conditions []*eval.Program, first int) []held {
	var out []held
	for i := 0; i <= first && i < len(conditions); i++ {
		if w.asksValue(conditions[i]) {
			out = append(out, held{conditions[i], i == first})
		}
	}
	return out
}

// asksValue reports whether a condition reads a number that is followed.
func (w *boundWalk) asksValue(p *eval.Program) bool {
	return len(w.vars) > 0 && slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		_, followed := w.varOf[r.Path[0]]
		return followed
	})
}

// maxDecided is how many evaluations of conditions the decisions of a walk with
// room for some states only may take; behind it every edge may fire.
const maxDecided = 50_000

func (w *boundWalk) decide(p solve.Problem) solve.Result {
	if w.room > 0 && w.decided > maxDecided {
		return solve.Result{Verdicts: make([]solve.Verdict, len(p.Conditions))}
	}
	before := w.f.solver.Spent
	result := w.f.solver.Solve(p)
	w.decided += w.f.solver.Spent - before
	return result
}

func (w *boundWalk) fallbacks(n *spec.Node) []way {
	var out []way
	candidates := w.candidates(n.Index)
	for _, g := range w.flow.Groups[n.Index] {
		switch g.Kind {
		case controlflow.ByDecision:
			out = append(out, way{targets: g.Targets, extra: w.decideCost(candidates)})
		case controlflow.ByDefault:
			extra := span{}
			if candidates > 0 { // the decision was tried, and failed
				extra.most = w.decideCost(candidates).most
			}
			out = append(out, way{targets: g.Targets, extra: extra})
		}
	}
	return out
}

// failures are the groups of edges that can fire after a failure.
func (w *boundWalk) failures(n *spec.Node) []way {
	var out []way
	for _, g := range w.flow.Groups[n.Index] {
		if g.Kind == controlflow.OnFailure {
			out = append(out, way{targets: g.Targets, failed: true})
		}
	}
	return out
}

// joinsOfLost are, by node, the joins that go on although all branches have failed, the
// node's among them.
func (w *boundWalk) joinsOfLost() map[int][]int {
	out := map[int][]int{}
	for fork, groups := range w.flow.Groups {
		if controlflow.FailurePolicy(w.f.graph, fork) != "wait_all" {
			continue
		}
		for i := range groups {
			join := w.f.meetsLost(fork, &groups[i])
			if len(groups[i].Targets) < 2 || join < 0 {
				continue
			}
			for v, inside := range w.flow.Digraph.Reach(groups[i].Targets...) {
				if inside && !slices.Contains(out[v], join) {
					out[v] = append(out[v], join)
				}
			}
		}
	}
	return out
}

// refusedWays are what may come of a visit that a limit refuses.
func (w *boundWalk) refusedWays(v int) []way {
	n := w.f.graph.Nodes[v]
	var out []way
	if n.OnMaxVisits != "skip" {
		out = w.failures(n)
	} else {
		var targets []int
		for _, i := range w.f.certainEdges(v, false, true) {
			targets = append(targets, w.f.To[i])
		}
		if len(targets) > 0 {
			out = []way{{targets: targets}}
		}
	}
	if len(out) == 0 {
		return []way{{stops: true}}
	}
	return out
}

// domain is the domain of a site where the counters are known.
func (w *boundWalk) domain(at *site, s *boundState) func([]string, eval.Type) solve.Domain {
	visits, step, values := slices.Clone(s.visits), s.step, s.values
	return func(path []string, typ eval.Type) solve.Domain {
		if d, followed := w.valueDomain(path, values); followed {
			return d
		}
		switch {
		case len(path) == 2 && path[0] == "visits":
			n := w.f.graph.Node(path[1])
			if n == nil {
				break
			}
			if c, ok := w.counterOf[n.Index]; ok {
				return upTo(visits[c], w.counters[c].most, w.limit[n.Index])
			}
		case len(path) == 1 && path[0] == "step" && w.stepCap > 0:
			return upTo(step, w.stepCap, 0)
		}
		return at.domain(path, typ)
	}
}

// upTo is a counter's value; at its cap it may be more, but for a limit.
func upTo(n, most, limit int) solve.Domain {
	if n < most || limit > 0 && n == limit {
		return solve.Domain{Values: []any{n}}
	}
	return solve.Domain{Kind: solve.Int, Min: float64(n), HasMin: true}
}

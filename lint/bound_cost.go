// What one execution of a node takes.

package lint

import (
	"math"
	"path"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Attempts that a node or the router gets without a retry block.
const defaultAttempts = 3

// prepare computes what does not depend on the way through the graph.
func (w *boundWalk) prepare() {
	g := w.f.graph
	w.costs = make([]span, len(g.Nodes))
	w.limit = make([]int, len(g.Nodes))
	for v, n := range g.Nodes {
		w.costs[v] = w.nodeCost(n)
		if w.limit[v] = n.MaxVisits; n.MaxVisits == 0 {
			w.limit[v] = g.Limits.MaxVisits
		}
	}
	w.findCounters()
	w.reaches, w.nested = map[int][]bool{}, map[int]bool{}
	for v, n := range g.Nodes {
		if n.Join != nil {
			w.reaches[v] = w.flow.back.Reach(v)
			w.nested[v] = w.isNested(v)
		}
	}
	w.drops = g.Parallel.OnFailure != "" && g.Parallel.OnFailure != "fail_all"
	for _, n := range g.Nodes {
		w.drops = w.drops || n.Parallel != nil && n.Parallel.OnFailure != "" && n.Parallel.OnFailure != "fail_all"
	}
}

func exactly(steps float64) span { return span{cost{inSteps: steps}, cost{inSteps: steps}} }

func (w *boundWalk) nodeCost(n *spec.Node) span {
	s := exactly(1)
	switch n.Kind.Value {
	case "llm":
		s = s.plus(w.modelCost(n, 1, 1+integer(n, "output_retries", 2)))
	case "agent":
		turns, rounds := 10, 0
		if v := n.Field("loop").Get("max_turns"); v != nil {
			turns = wholeOf(v, turns)
		}
		if judge := n.Field("judge"); judge != nil {
			rounds = wholeOf(judge.Get("max_rounds"), 3)
		}
		// Each round of the judge may start the loop again, and a pattern of
		// two models makes two calls a turn.
		s = s.plus(w.modelCost(n, 1, (rounds+1)*(2*turns+1)))
	case "graph":
		if n.Retry == nil { // each attempt is another run
			s = s.plus(w.childCost(n))
		} else {
			s.most = cost{math.Inf(1), math.Inf(1)}
		}
	}
	if n.Each.IsSet() {
		s.least[inCalls] = 0
		if s.most[inCalls] > 0 {
			s.most[inCalls] = math.Inf(1)
		}
	}
	if n.Cache != nil || w.f.graph.Cache != nil {
		s.least = cost{inSteps: 1}
	}
	return s
}

// modelCost is what the model calls of one visit take.
func (w *boundWalk) modelCost(n *spec.Node, least, most int) span {
	attempts := defaultAttempts
	switch {
	case n.Kind.Value == "agent":
		attempts = 1 // it retries inside
	case n.Retry != nil:
		attempts = n.Retry.MaxAttempts
	case w.f.graph.Retry != nil:
		attempts = w.f.graph.Retry.MaxAttempts
	}
	if c := w.f.graph.Conversation; c != nil && c.Get("compaction") != nil {
		most *= 2 // each call may be preceded by a summary
	}
	if n.Kind.Value == "llm" && n.Output == nil {
		most = max(1, most-integer(n, "output_retries", 2))
	}
	return span{cost{inCalls: float64(least)}, cost{inCalls: float64(most * attempts)}}
}

func integer(n *spec.Node, field string, missing int) int { return wholeOf(n.Field(field), missing) }

func wholeOf(v *spec.Value, missing int) int {
	if v == nil {
		return missing
	}
	if n, ok := v.Data().(int); ok {
		return n
	}
	return missing
}

// childCost is what a run of another graph takes; without that graph's file
// nothing is known.
func (w *boundWalk) childCost(n *spec.Node) span {
	unknown := span{cost{inSteps: 1}, cost{math.Inf(1), math.Inf(1)}}
	name := text(n, "graph")
	if w.f.opts.Load == nil || !name.IsSet() || strings.Contains(name.Value, "{{") || w.depth == 0 {
		return unknown
	}
	src, err := w.f.opts.Load(name.Value)
	if err != nil {
		return unknown
	}
	g, found := spec.Parse(name.Value, src, spec.Options{})
	if g == nil || found.HasErrors() {
		return unknown
	}
	opts, folder := w.f.opts, path.Dir(name.Value)
	opts.Load = func(child string) ([]byte, error) { return w.f.opts.Load(path.Join(folder, child)) }
	b, ok := boundGraph(g, opts, w.depth-1)
	if !ok {
		return unknown
	}
	return span{cost{b.Steps.Min, b.LLMCalls.Min}, cost{b.Steps.Max, b.LLMCalls.Max}}
}

// decideCost is what the choice between several edges takes.
func decideCost(candidates int) span {
	if candidates < 2 {
		return span{}
	}
	return span{cost{inCalls: 1}, cost{inCalls: defaultAttempts}}
}

// coarse replaces the exploration of a graph that has too many ways: its nodes
// are the states, and nothing is known of guards and branches.
func (w *boundWalk) coarse() {
	n := len(w.f.graph.Nodes)
	w.states, w.moves = n+1, nil
	w.done = n
	for v, groups := range w.flow.groups {
		for i := range groups {
			extra := span{}
			if groups[i].kind == byDecision {
				extra.most = cost{inCalls: defaultAttempts}
			}
			for _, to := range groups[i].targets {
				s := w.costs[v].plus(extra)
				if groups[i].kind == onFailure {
					s.least = cost{}
				}
				w.moves = append(w.moves, boundMove{from: v, to: min(to, n), span: s, ran: []int{v}})
			}
		}
	}
	w.start = w.f.start()
	w.wide = true
}

// isNested reports whether branches of several fan-outs may be on their way to
// a join at once. Each fan-out has its own barrier there, so how often the
// join runs is not told by who can reach it.
func (w *boundWalk) isNested(join int) bool {
	reach := w.reaches[join]
	var fans []int
	for v, groups := range w.flow.groups {
		for i := range groups {
			if reach[v] && v != join && len(groups[i].targets) > 1 {
				fans = append(fans, v)
				break
			}
		}
	}
	return len(fans) > 1 || len(fans) == 1 && w.returns(fans[0], join)
}

// returns reports whether a node can be reached again without passing another.
func (w *boundWalk) returns(v, without int) bool {
	seen := map[int]bool{without: true}
	todo := []int{v}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range w.flow.graph.Next(at) {
			if to == v {
				return true
			}
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return false
}

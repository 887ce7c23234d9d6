// What one execution of a node takes.

package lint

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// Attempts that a model call gets without a retry block.
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
	w.caught = slices.ContainsFunc(w.flow.Groups, func(groups []controlflow.Group) bool {
		return slices.ContainsFunc(groups, func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure })
	})
}

func exactly(steps float64) span { return span{cost{inSteps: steps}, cost{inSteps: steps}} }

// elementCost is what one execution of a node takes, of one element of its each.
func (w *boundWalk) elementCost(n *spec.Node) span {
	s := exactly(1)
	switch n.Kind.Value {
	case "llm":
		s = s.plus(w.modelCost(n, 1, 1+integer(n, "output_retries", 2)))
	case "agent":
		least, most := agentCalls(n)
		s = s.plus(w.modelCost(n, least, most))
		s = s.plus(w.graphTools())
	case "tool", "tools":
		s = s.plus(w.graphTools())
	case "graph":
		s = s.plus(w.childCost(n))
	}
	return s
}

// nodeCost is what one execution of a node takes.
func (w *boundWalk) nodeCost(n *spec.Node) span {
	s := w.elementCost(n)
	if n.Each.IsSet() {
		least, most := w.elements(n)
		for metric, own := range exactly(1).least { // one step, however many elements
			s.least[metric] = own + (s.least[metric]-own)*least
			if more := s.most[metric] - own; more > 0 && most > 0 {
				s.most[metric] = own + more*most
			} else {
				s.most[metric] = own
			}
		}
	}
	if n.Cache != nil || w.f.graph.Cache != nil {
		s.least = cost{inSteps: 1}
	}
	return s
}

// elements are the fewest and the most that the list of a node's each can hold.
func (w *boundWalk) elements(n *spec.Node) (least, most float64) {
	p := w.f.bound.Nodes[n.Index].Each
	if p == nil {
		return 0, math.Inf(1)
	}
	if value, ok := p.Const(); ok {
		if list, ok := value.([]any); ok {
			return float64(len(list)), float64(len(list))
		}
	}
	most = math.Inf(1)
	if tree := p.Tree(); tree.Op == eval.TreePath && len(tree.Path) == 1 {
		if key := w.f.graph.Key(tree.Path[0]); key != nil {
			if low, ok := key.Schema["minItems"].(int); ok {
				least = float64(low)
			}
			if high, ok := key.Schema["maxItems"].(int); ok {
				most = float64(high)
			}
		}
	}
	return least, most
}

// modelCost is what the model calls of one visit take.
func (w *boundWalk) modelCost(n *spec.Node, least, most int) span {
	attempts := defaultAttempts
	switch {
	case n.Kind.Value == "agent":
		attempts = 1 // it retries inside
	case n.RetryBlocks(w.f.graph) != nil:
		attempts = spec.Attempts(n.RetryBlocks(w.f.graph))
	}
	for _, c := range []*spec.Value{w.f.graph.Conversation, n.Conversation} {
		if c != nil && c.Get("compaction") != nil {
			most *= 2 // each call may be preceded by a summary
			break
		}
	}
	if n.Kind.Value == "llm" && n.Output == nil {
		most = max(1, most-integer(n, "output_retries", 2))
	}
	return span{cost{inCalls: float64(least)}, calls(float64(most * attempts))}
}

// calls are some model calls, of prompts of any length.
func calls(n float64) cost {
	c := cost{inCalls: n}
	if n > 0 {
		c[inTokens], c[inUSD] = math.Inf(1), math.Inf(1)
	}
	return c
}

// agentCalls are the calls of an agent that finds all models ready, and of one
// whose every call is made again as often as it may be.
func agentCalls(n *spec.Node) (least, most int) {
	loop, judge := n.Field("loop"), n.Field("judge")
	rounds := 0
	if judge != nil {
		least, rounds = 1, wholeOf(judge.Get("max_rounds"), 3)
	}
	turns := wholeOf(loop.Get("max_turns"), 10)
	pattern := ""
	if v := loop.Get("pattern"); v != nil {
		pattern = v.Text.Value
	}
	switch pattern {
	case "evaluator_optimizer":
		least = 1 // the judge of a trial
		most = wholeOf(loop.Get("max_trials"), 10) * (turns + 1)
	case "state_machine":
		most = max(rounds, 1)*wholeOf(loop.Get("max_iterations"), 100)*turns + rounds
	default:
		most = max(rounds, 1)*turns + rounds
	}
	return 1 + least, most * defaultAttempts
}

// graphTools is what running graphs as tools may take: nobody knows how many.
func (w *boundWalk) graphTools() span {
	for i := range w.f.graph.Tools {
		if w.f.graph.Tools[i].Value.Get("graph") != nil {
			return span{most: without}
		}
	}
	return span{}
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

// decideCost is what the choice between several edges takes: each try may ask
// again for an answer that names no candidate.
func (w *boundWalk) decideCost(candidates int) span {
	if candidates < 2 {
		return span{}
	}
	tries := defaultAttempts
	if retry := w.f.graph.Retry; retry != nil {
		tries = spec.Attempts(retry)
	}
	const asksAgain = 2
	return span{cost{inCalls: 1}, calls(float64(tries * (1 + asksAgain)))}
}

// coarse replaces the exploration of a graph that has too many ways: its nodes
// are the states, and nothing is known of guards and branches. One more state
// stands for a goto that may name any node, or END.
func (w *boundWalk) coarse() {
	n := len(w.f.graph.Nodes)
	w.states, w.moves = n+2, nil
	w.done = n
	anywhere := n + 1
	if w.flow.Anywhere {
		for v := range n + 1 {
			w.moves = append(w.moves, boundMove{from: anywhere, to: v, ran: -1})
		}
	}
	lost := w.joinsOfLost()
	for v, groups := range w.flow.Groups {
		if node := w.f.graph.Nodes[v]; node.Goto.IsSet() && !node.HasEnds {
			w.moves = append(w.moves, boundMove{from: v, to: anywhere, span: w.costs[v], ran: v})
		}
		for _, join := range lost[v] {
			w.moves = append(w.moves, boundMove{from: v, to: join, span: span{most: w.costs[v].most}, ran: v})
		}
		for i := range groups {
			extra := span{}
			if groups[i].Kind == controlflow.ByDecision {
				extra.most = w.decideCost(2).most
			}
			for _, to := range groups[i].Targets {
				s := w.costs[v].plus(extra)
				if groups[i].Kind == controlflow.OnFailure {
					s.least = cost{}
					if w.limit[v] == 0 { // else it may be a visit that was refused
						s.least[inSteps] = 1
					}
				}
				w.moves = append(w.moves, boundMove{from: v, to: min(to, n), span: s, ran: v})
				if to < n && w.drops(to) {
					w.moves = append(w.moves, boundMove{from: v, to: n, span: s, ran: v})
				}
			}
		}
	}
	w.start = w.f.Start()
	w.wide = true
}

// drops reports whether a branch may end at a node because others do not come there.
func (w *boundWalk) drops(v int) bool {
	n := w.f.graph.Nodes[v]
	return n.Join != nil && n.Join.Count > 1 || w.caught && (controlflow.Bypass(n) != "" || w.flow.Joins[v])
}

// What one execution of a node takes.

package lint

import (
	"math"
	"path"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

// Attempts that a model call gets without a retry block.
const defaultAttempts = 3

// prepare computes what does not depend on the path through the graph.
func (w *boundWalk) prepare() {
	g := w.f.graph
	w.flow = w.f.flow()
	w.costs = make([]span, len(g.Nodes))
	w.limit = make([]int, len(g.Nodes))
	for v, n := range g.Nodes {
		w.costs[v] = w.nodeCost(n)
		w.limit[v] = n.VisitLimit(g)
	}
	w.findVariables(true)
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
			return span{most: unknownCost}
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

// family are the bounds of the graphs in a graph, and in these, by their files, or by the
// file and "#name"; nil where nothing is known.
type family map[string]*Bounds

// childCost is what the subgraph of a node takes: each attempt is another run of it.
// Without its file nothing is known.
func (w *boundWalk) childCost(n *spec.Node) span {
	b := w.child(n)
	if b == nil {
		return span{cost{inSteps: 1}, unknownCost}
	}
	attempts := 1
	if blocks := n.RetryBlocks(w.f.graph); blocks != nil {
		attempts = spec.Attempts(blocks)
	}
	most := cost{b.Steps.Max, b.LLMCalls.Max, b.Tokens.Max, b.CostUSD.Max}
	return span{cost{inSteps: b.Steps.Min, inCalls: b.LLMCalls.Min}, most.times(float64(attempts))}
}

// child returns the bounds of a node's subgraph; nil if they are not known.
func (w *boundWalk) child(n *spec.Node) *Bounds {
	if n.Kind.Value != "graph" || w.depth == 0 {
		return nil
	}
	c := w.f.subgraphs().Load(w.f.graph, "", text(n, "graph").Value)
	if c == nil || c.Graph == nil {
		return nil
	}
	within := boundWalk{file: w.file, depth: w.depth - 1, family: w.family}
	opts, at := w.f.opts, w.file+c.Path
	if c.File != "" {
		opts.Load = subgraph.Beside(opts.Load, c.File)
		within.file = path.Join(path.Dir(w.file), c.File)
		at = path.Join(path.Dir(w.file), c.Path)
	}
	if b, known := w.family[at]; known {
		return b
	}
	w.family[at] = nil // in itself
	if b, ok := within.bounds(c.Graph, opts); ok {
		w.family[at] = &b
	}
	return w.family[at]
}

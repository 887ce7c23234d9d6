// What one execution of a node takes.

package bound

import (
	"math"
	"path"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

// Attempts that a model call gets without a retry block, and how often a decision asks
// again for an answer that names no candidate.
const (
	defaultAttempts = 3
	asksAgain       = 2
)

// prepare computes what does not depend on the path through the graph.
func (w *walk) prepare() {
	w.costs, w.limit = make([]span, w.End), make([]int, w.End)
	for v, n := range w.Source.Nodes {
		w.costs[v], w.limit[v] = w.nodeCost(n), n.VisitLimit(w.Source)
	}
	w.findVariables()
}

func fixedSteps(steps float64) span { return span{cost{inSteps: steps}, cost{inSteps: steps}} }

// elementCost returns what an execution of a node takes, for one element of its each.
func (w *walk) elementCost(n *spec.Node) span {
	s := fixedSteps(1)
	switch n.Kind.Value {
	case "llm":
		return s.plus(w.modelCost(n, 1, 1+integerOf(n.Field("output_retries"), 2)))
	case "agent":
		least, most := agentCalls(n)
		s = s.plus(w.modelCost(n, least, most))
	case "graph":
		return s.plus(w.childCost(n))
	case "tool", "tools":
	default:
		return s
	}
	for i := range w.Source.Tools {
		if w.Source.Tools[i].Value.Get("graph") != nil { // nobody knows how often it runs
			s.most = unbounded
		}
	}
	return s
}

// nodeCost returns what an execution of a node takes.
func (w *walk) nodeCost(n *spec.Node) span {
	s := w.elementCost(n)
	if n.Each.IsSet() {
		least, most := w.elements(n)
		s.least[inSteps]-- // one step, however many elements
		s.most[inSteps]--
		s = fixedSteps(1).plus(span{s.least.times(least), s.most.times(most)})
	}
	if n.Cache != nil || w.Source.Cache != nil {
		s.least = cost{inSteps: 1}
	}
	return s
}

// elements returns the fewest and the most elements of the list of a node's each.
func (w *walk) elements(n *spec.Node) (least, most float64) {
	most = math.Inf(1)
	p := w.bound.Nodes[n.Index].Each
	if p == nil {
		return 0, most
	}
	if value, ok := p.Const(); ok {
		if list, ok := value.([]any); ok {
			return float64(len(list)), float64(len(list))
		}
	}
	if tree := p.Tree(); tree.Op == eval.TreePath && len(tree.Path) == 1 && w.Source.Key(tree.Path[0]) != nil {
		schema := w.Source.Key(tree.Path[0]).Schema
		if low, ok := schema["minItems"].(int); ok {
			least = float64(low)
		}
		if high, ok := schema["maxItems"].(int); ok {
			most = float64(high)
		}
	}
	return least, most
}

// modelCost returns what the model calls of one visit take.
func (w *walk) modelCost(n *spec.Node, least, most int) span {
	attempts := defaultAttempts
	switch {
	case n.Kind.Value == "agent":
		attempts = 1 // it retries inside
	case n.RetryBlocks(w.Source) != nil:
		attempts = spec.Attempts(n.RetryBlocks(w.Source))
	}
	compacts := func(c *spec.Value) bool { return c != nil && c.Get("compaction") != nil }
	if compacts(w.Source.Conversation) || compacts(n.Conversation) {
		most *= 2 // each call may be preceded by a summary
	}
	if n.Kind.Value == "llm" && n.Output == nil {
		most = max(1, most-integerOf(n.Field("output_retries"), 2))
	}
	return span{cost{inCalls: float64(least)}, costOfCalls(most * attempts)}
}

// costOfCalls returns the cost of model calls with prompts of any length.
func costOfCalls(n int) cost {
	if n == 0 {
		return cost{}
	}
	return cost{inCalls: float64(n), inTokens: math.Inf(1), inUSD: math.Inf(1)}
}

// agentCalls returns the calls of an agent whose models succeed at once, and of one that
// repeats every call as often as it may.
func agentCalls(n *spec.Node) (least, most int) {
	loop, judge := n.Field("loop"), n.Field("judge")
	rounds := 0
	if judge != nil {
		least, rounds = 1, integerOf(judge.Get("max_rounds"), 3)
	}
	turns := integerOf(loop.Get("max_turns"), 10)
	pattern := ""
	if v := loop.Get("pattern"); v != nil {
		pattern = v.Text.Value
	}
	switch pattern {
	case "evaluator_optimizer":
		least = 1 // the judge of a trial
		most = integerOf(loop.Get("max_trials"), 10) * (turns + 1)
	case "state_machine":
		most = max(rounds, 1)*integerOf(loop.Get("max_iterations"), 100)*turns + rounds
	default:
		most = max(rounds, 1)*turns + rounds
	}
	return 1 + least, most * defaultAttempts
}

// integerOf returns the integer in a value, or missing if there is none.
func integerOf(v *spec.Value, missing int) int {
	if v == nil {
		return missing
	}
	if n, ok := v.Data().(int); ok {
		return n
	}
	return missing
}

// decideCost returns the cost of a model's choice between the edges of a node.
func (w *walk) decideCost(v int) span {
	candidates := 0
	for _, g := range w.Groups[v] {
		if g.Kind == controlflow.ByDecision {
			candidates++
		}
	}
	if candidates < 2 {
		return span{}
	}
	tries := defaultAttempts
	if retry := w.Source.Retry; retry != nil {
		tries = spec.Attempts(retry)
	}
	return span{cost{inCalls: 1}, costOfCalls(tries * (1 + asksAgain))}
}

// mostOfVisit returns the most that a visit of a node takes, with the decision after it.
func (w *walk) mostOfVisit(v int) cost { return w.costs[v].most.plus(w.decideCost(v).most) }

// boundByLimit bounds a run by its limit of steps, each of which is the most expensive.
func (w *walk) boundByLimit(out *Bounds) {
	out.Steps.Max, out.Steps.Limit = float64(w.Source.Limits.MaxSteps), "max_steps"
	var most cost
	for v := range w.costs {
		most = most.max(w.mostOfVisit(v))
	}
	most = most.times(out.Steps.Max)
	out.LLMCalls.Max, out.Tokens.Max, out.CostUSD.Max = most[inCalls], most[inTokens], most[inUSD]
	if most[inCalls] > 0 {
		out.LLMCalls.Limit = "max_steps"
	}
}

// childCost returns what the subgraph of a node takes. Each attempt runs it again.
func (w *walk) childCost(n *spec.Node) span {
	b := w.child(n)
	if b == nil {
		return span{cost{inSteps: 1}, unbounded}
	}
	attempts := 1
	if blocks := n.RetryBlocks(w.Source); blocks != nil {
		attempts = spec.Attempts(blocks)
	}
	most := cost{b.Steps.Max, b.LLMCalls.Max, b.Tokens.Max, b.CostUSD.Max}
	return span{cost{inSteps: b.Steps.Min, inCalls: b.LLMCalls.Min}, most.times(float64(attempts))}
}

// child returns the bounds of a node's subgraph, or nil if they are unknown.
func (w *walk) child(n *spec.Node) *Bounds {
	if n.Kind.Value != "graph" || w.depth == 0 {
		return nil
	}
	c := w.loader.Load(w.Source, "", text(n, "graph"))
	if c == nil || c.Graph == nil {
		return nil
	}
	inner := walk{file: w.file, depth: w.depth - 1, known: w.known, opts: w.opts}
	at := w.file + c.Path
	if c.File != "" {
		inner.opts.Load = subgraph.Beside(w.opts.Load, c.File)
		inner.file = path.Join(path.Dir(w.file), c.File)
		at = path.Join(path.Dir(w.file), c.Path)
	}
	if b, known := w.known[at]; known {
		return b
	}
	w.known[at] = nil // in itself
	if b, ok := inner.bounds(c.Graph); ok {
		w.known[at] = &b
	}
	return w.known[at]
}

// text returns the text of a scalar field of a node, or "".
func text(n *spec.Node, field string) string {
	if v := n.Field(field); v != nil && v.IsScalar() && v.Kind != spec.Null {
		return v.Text.Value
	}
	return ""
}

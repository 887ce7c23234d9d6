// The cost of one execution of a node, limits and prices, and the reasons for missing bounds.

package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// Attempts of a model call without a retry block, and repeats of a decision without a valid answer.
const (
	defaultAttempts = 3
	asksAgain       = 2
)

func fixedSteps(steps float64) span { return span{cost{inSteps: steps}, cost{inSteps: steps}} }

// boundElement bounds the cost of one execution of a node, or of one element of its each.
func (w *walk) boundElement(n *spec.Node) span {
	s := fixedSteps(1)
	switch n.Kind.Value {
	case "llm":
		asks := 1
		if n.Output != nil {
			asks += readInt(n.Field("output_retries"), 2)
		}
		return s.add(w.boundModelCalls(n, 1, asks))
	case "agent":
		least, most := countAgentCalls(n)
		s = s.add(w.boundModelCalls(n, least, most))
	case "graph":
		return s.add(w.boundChild(n))
	case "tool", "tools":
	default:
		return s
	}
	for i := range w.Source.Tools {
		if w.Source.Tools[i].Value.Get("graph") != nil { // it may run any number of times
			s.most = unbounded
		}
	}
	return s
}

// boundNode bounds the cost of one execution of a node with all elements.
func (w *walk) boundNode(n *spec.Node) span {
	s := w.boundElement(n)
	if n.Each.IsSet() {
		least, most := w.countElements(n)
		s.least[inSteps]-- // one step, however many elements
		s.most[inSteps]--
		s = fixedSteps(1).add(span{s.least.multiply(least), s.most.multiply(most)})
	}
	if n.Cache != nil || w.Source.Cache != nil {
		s.least = cost{inSteps: 1}
	}
	return s
}

// countElements bounds the length of the list of a node's each.
func (w *walk) countElements(n *spec.Node) (least, most float64) {
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
	if tree := p.Tree; tree.Op == eval.TreePath && len(tree.Path) == 1 && w.Source.Key(tree.Path[0]) != nil {
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

// boundModelCalls bounds the cost of the model calls of one visit.
func (w *walk) boundModelCalls(n *spec.Node, least, most int) span {
	attempts := defaultAttempts
	switch {
	case n.Kind.Value == "agent":
		attempts = 1 // its own calls are retried instead
	case n.RetryBlocks(w.Source) != nil:
		attempts = spec.MaxAttempts(n.RetryBlocks(w.Source))
	}
	if w.Source.Conversation.Get("compaction") != nil || n.Conversation.Get("compaction") != nil {
		most *= 2 // a call for a summary may precede each call
	}
	return span{cost{inCalls: float64(least)}, newCallCost(most * attempts)}
}

// newCallCost returns the cost of model calls with prompts of any length.
func newCallCost(n int) cost {
	if n == 0 {
		return cost{}
	}
	return cost{inCalls: float64(n), inTokens: math.Inf(1), inUSD: math.Inf(1)}
}

// countAgentCalls bounds the model calls of an agent: without any retry, and with all retries.
func countAgentCalls(n *spec.Node) (least, most int) {
	loop, judge := n.Field("loop"), n.Field("judge")
	rounds := 0
	if judge != nil {
		least, rounds = 1, readInt(judge.Get("max_rounds"), 3)
	}
	turns := readInt(loop.Get("max_turns"), 10)
	switch loop.Get("pattern").Scalar().Value {
	case "evaluator_optimizer":
		least = 1 // the judge of a trial
		most = readInt(loop.Get("max_trials"), 10) * (turns + 1)
	case "state_machine":
		most = max(rounds, 1)*readInt(loop.Get("max_iterations"), 100)*turns + rounds
	default:
		most = max(rounds, 1)*turns + rounds
	}
	return 1 + least, most * defaultAttempts
}

// readInt returns the integer in a value, or missing if it has none.
func readInt(v *spec.Value, missing int) int {
	if v != nil {
		if n, ok := v.Data().(int); ok {
			return n
		}
	}
	return missing
}

// boundDecision bounds the cost of a model's choice between the edges of a node.
func (w *walk) boundDecision(v int) span {
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
		tries = spec.MaxAttempts(retry)
	}
	return span{cost{inCalls: 1}, newCallCost(tries * (1 + asksAgain))}
}

// boundVisit returns the highest cost of a visit of a node and the decision after it.
func (w *walk) boundVisit(v int) cost { return w.costs[v].most.add(w.boundDecision(v).most) }

// boundByLimit sets the upper bounds to max_steps times the most expensive visit.
func (w *walk) boundByLimit(out *Bounds) {
	out.Steps.Max, out.Steps.Limit = float64(w.Source.Limits.MaxSteps), "max_steps"
	var most cost
	for v := range w.costs {
		most = most.max(w.boundVisit(v))
	}
	most = most.multiply(out.Steps.Max)
	out.LLMCalls.Max, out.Tokens.Max, out.CostUSD.Max = most[inCalls], most[inTokens], most[inUSD]
	if most[inCalls] > 0 {
		out.LLMCalls.Limit = "max_steps"
	}
}

// boundChild bounds the cost of a node's subgraph, which each attempt runs again.
func (w *walk) boundChild(n *spec.Node) span {
	b := w.loadChild(n)
	if b == nil {
		return span{cost{inSteps: 1}, unbounded}
	}
	most := cost{b.Steps.Max, b.LLMCalls.Max, b.Tokens.Max, b.CostUSD.Max}
	return span{cost{inSteps: b.Steps.Min, inCalls: b.LLMCalls.Min}, most.multiply(float64(spec.MaxAttempts(n.RetryBlocks(w.Source))))}
}

// loadChild returns the bounds of a node's subgraph, or nil if they are unknown.
func (w *walk) loadChild(n *spec.Node) *Bounds {
	if n.Kind.Value != "graph" || w.depth == 0 {
		return nil
	}
	c := w.loader.Load(w.Source, w.file, n.Field("graph").Scalar().Value)
	if c == nil || c.Graph == nil {
		return nil
	}
	if b, known := w.known[c.Path]; known {
		return b
	}
	w.known[c.Path] = nil // a subgraph may run itself
	inner := walk{file: c.File, depth: w.depth - 1, known: w.known, opts: w.opts, loader: w.loader}
	if b, ok := inner.computeBounds(c.Graph); ok {
		w.known[c.Path] = &b
	}
	return w.known[c.Path]
}

// applyLimits lowers the upper bounds to the limits of the graph, and explains infinite ones.
func (w *walk) applyLimits(out *Bounds) {
	limits := &w.Source.Limits
	calls, tokens, usd := &out.LLMCalls, &out.Tokens, &out.CostUSD
	if calls.Max == 0 {
		calls.MinPath, calls.MaxPath = nil, nil // every path has none
		return
	}
	if math.IsInf(calls.Max, 1) {
		calls.MaxPath, calls.Limit, calls.Why = nil, "", w.whyManyCalls()
	}
	if math.IsInf(tokens.Max, 1) {
		tokens.Why = "prompts may have any length; set limits.max_tokens"
	}
	if limits.MaxTokens > 0 && float64(limits.MaxTokens) <= tokens.Max {
		*tokens = Range{Max: float64(limits.MaxTokens), Limit: "max_tokens"}
	}
	if most, limit, why := w.boundCost(tokens.Max, out); most <= usd.Max {
		if usd.Max, usd.Limit, usd.Why = most, limit, why; limit != "" {
			usd.Limit = tokens.Limit
		}
	}
	if limits.MaxCostUSD > 0 && limits.MaxCostUSD <= usd.Max {
		usd.Max, usd.Limit, usd.Why = limits.MaxCostUSD, "max_cost_usd", ""
	}
}

// whyManyCalls explains why nothing bounds the model calls.
func (w *walk) whyManyCalls() string {
	for v, n := range w.Source.Nodes {
		switch {
		case !math.IsInf(w.costs[v].most[inCalls], 1):
			continue
		case n.Each.IsSet():
			return fmt.Sprintf("%q runs for each element of a list of any length; give the list maxItems in its schema", n.ID.Value)
		case n.Kind.Value == "graph":
			if child := w.loadChild(n); child != nil {
				return fmt.Sprintf("in the subgraph of %q: %s", n.ID.Value, child.LLMCalls.Why)
			}
			return fmt.Sprintf("what the subgraph of %q calls is not known", n.ID.Value)
		}
		return fmt.Sprintf("%q may run graphs as tools", n.ID.Value)
	}
	return ""
}

// boundCost returns the highest cost of some tokens. limit is "max_tokens" if they matter.
func (w *walk) boundCost(tokens float64, b *Bounds) (usd float64, limit, why string) {
	const remedy = "set limits.max_cost_usd"
	if w.opts.Price == nil || !b.priced {
		return math.Inf(1), "", "which models are called is not known before the run; " + remedy
	}
	for _, name := range b.models {
		one, known := Price(w.Source, w.opts.Price, name, 1)
		if !known {
			return math.Inf(1), "", fmt.Sprintf("the price of %q is not known", name)
		}
		if one == 0 {
			continue
		}
		if math.IsInf(tokens, 1) {
			return math.Inf(1), "", remedy + " or limits.max_tokens"
		}
		all, known := Price(w.Source, w.opts.Price, name, int(tokens))
		if !known {
			return math.Inf(1), "", fmt.Sprintf("the price of %q is not known for so many tokens; %s", name, remedy)
		}
		usd, limit = max(usd, all), "max_tokens"
	}
	return usd, limit, ""
}

// listModels returns the models that a run and its subgraphs may call. priced says that the list is
// complete, and that all subgraphs have the same prices.
func (w *walk) listModels() (names []string, priced bool) {
	names, priced = Models(w.Source)
	for _, n := range w.Source.Nodes {
		if n.Kind.Value != "graph" {
			continue
		}
		child := w.loadChild(n)
		if child == nil || !child.priced || !w.sharesPrices(child.walk.Source) {
			return nil, false
		}
		for _, name := range child.models {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, priced
}

// sharesPrices reports whether models cost the same in a subgraph.
func (w *walk) sharesPrices(g *spec.Graph) bool {
	own := w.Source
	if g.FileGraph() == own.FileGraph() {
		return len(g.Providers) == 0
	}
	return len(g.Providers)+len(g.FileGraph().Providers)+len(own.Providers)+len(own.FileGraph().Providers) == 0
}

// Models returns the models, provider/name, that a graph itself may call, and if these are all.
func Models(g *spec.Graph) (names []string, known bool) {
	roles := map[string]string{}
	for _, model := range slices.Concat(g.FileGraph().Models, g.Models) {
		roles[model.Key.Value] = model.Value.Text.Value
	}
	known = true
	add := func(name, role string) {
		if name = cmp.Or(name, role); !strings.Contains(name, "/") {
			if name = cmp.Or(roles[name], roles["default"]); name == "" {
				return // its calls fail
			}
		}
		known = known && !strings.Contains(name, "{{")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range g.Nodes {
		if n.Kind.Value != "llm" && n.Kind.Value != "agent" {
			continue
		}
		add(n.Field("model").Scalar().Value, "default")
		add("", "compact")
		if judge := n.Field("judge"); judge != nil || n.Kind.Value == "agent" {
			add(judge.Get("model").Scalar().Value, "judge")
		}
	}
	for i := range g.Tools {
		known = known && g.Tools[i].Value.Get("graph") == nil
	}
	if slices.ContainsFunc(g.Edges, func(e *spec.Edge) bool { return e.Condition == "llm_decide" }) {
		add("", "router")
	}
	return names, known
}

// Price returns the highest cost of some tokens of a model, by the prices of its provider in the
// file, then by the function of. A provider with a base_url has no known price.
func Price(g *spec.Graph, of func(model string, tokens int) (usd float64, known bool), name string, tokens int) (usd float64, known bool) {
	server, id, _ := strings.Cut(name, "/")
	amount := func(v *spec.Value) float64 {
		n, _ := eval.Number(v.Data())
		return n
	}
	for _, p := range slices.Concat(g.Providers, g.FileGraph().Providers) {
		if p.Key.Value != server {
			continue
		}
		if rates := p.Value.Get("prices").Get(id); rates != nil {
			return max(amount(rates.Get("input")), amount(rates.Get("output"))) * float64(tokens) / 1e6, true
		}
		kind := p.Value.Get("type").Scalar().Value
		if p.Value.Get("base_url") != nil && kind != "scripted" {
			return 0, false
		}
		return of(kind+"/"+id, tokens)
	}
	return of(name, tokens)
}

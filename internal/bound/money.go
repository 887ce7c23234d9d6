// Limits and prices, and the reasons for missing bounds.

package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

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
	for _, models := range [][]spec.Field{g.FileGraph().Models, g.Models} {
		for i := range models {
			roles[models[i].Key.Value] = models[i].Value.Text.Value
		}
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

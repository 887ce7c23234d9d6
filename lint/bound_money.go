// What money and limits bound of a run, and why nothing bounds the rest.

package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// limits bounds what only limits bound.
func (w *boundWalk) limits(out *Bounds) {
	limits := &w.f.graph.Limits
	calls := &out.LLMCalls
	if calls.Max == 0 {
		calls.MinPath, calls.MaxPath = nil, nil // no run differs from another
		return
	}
	if math.IsInf(calls.Max, 1) {
		calls.MaxPath, calls.Limit, calls.Why = nil, "", w.whyManyCalls()
	}
	tokens, usd := &out.Tokens, &out.CostUSD
	if math.IsInf(tokens.Max, 1) {
		tokens.Why = "prompts may have any length; set limits.max_tokens"
	}
	if limits.MaxTokens > 0 && float64(limits.MaxTokens) <= tokens.Max {
		*tokens = Range{Max: float64(limits.MaxTokens), Limit: "max_tokens"}
	}
	if most, limit, why := w.price(tokens.Max, out.models, out.priced); most <= usd.Max {
		if usd.Max, usd.Limit, usd.Why = most, limit, why; limit != "" {
			usd.Limit = tokens.Limit
		}
	}
	if limits.MaxCostUSD > 0 && limits.MaxCostUSD <= usd.Max {
		usd.Max, usd.Limit, usd.Why = limits.MaxCostUSD, "max_cost_usd", ""
	}
}

// whyManyCalls says why a run may make any number of model calls.
func (w *boundWalk) whyManyCalls() string {
	for v, n := range w.f.graph.Nodes {
		switch {
		case !math.IsInf(w.costs[v].most[inCalls], 1):
			continue
		case n.Each.IsSet():
			return fmt.Sprintf("%q runs for each element of a list of any length; give the list maxItems in its schema", n.ID.Value)
		case n.Kind.Value == "graph":
			if child := w.child(n); child != nil {
				return fmt.Sprintf("in the subgraph of %q: %s", n.ID.Value, child.LLMCalls.Why)
			}
			return fmt.Sprintf("what the subgraph of %q calls is not known", n.ID.Value)
		}
		return fmt.Sprintf("%q may run graphs as tools", n.ID.Value)
	}
	return ""
}

// price is the most that so many tokens can cost, whichever model they go to,
// and the limit that it comes from: none for models that cost nothing.
func (w *boundWalk) price(tokens float64, names []string, known bool) (usd float64, limit, why string) {
	const remedy = "set limits.max_cost_usd"
	if w.f.opts.Price == nil || !known {
		return math.Inf(1), "", "which models are called is not known before the run; " + remedy
	}
	for _, name := range names {
		one, known := w.f.price(name, 1)
		if !known {
			return math.Inf(1), "", fmt.Sprintf("the price of %q is not known", name)
		}
		if one == 0 {
			continue
		}
		if math.IsInf(tokens, 1) {
			return math.Inf(1), "", remedy + " or limits.max_tokens"
		}
		all, known := w.f.price(name, int(tokens))
		if !known {
			return math.Inf(1), "", fmt.Sprintf("the price of %q is not known for so many tokens; %s", name, remedy)
		}
		usd, limit = max(usd, all), "max_tokens"
	}
	return usd, limit, ""
}

// models are those that a run may call, with its subgraphs; priced says that they are all,
// and that no subgraph has prices of its own.
func (w *boundWalk) models() (names []string, priced bool) {
	names, priced = w.f.modelNames()
	for _, n := range w.f.graph.Nodes {
		if n.Kind.Value != "graph" {
			continue
		}
		child := w.child(n)
		if child == nil || !child.priced || !w.f.pricesAlike(w.f.childOf(n)) {
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

// pricesAlike reports whether models cost the same in a subgraph.
func (f *facts) pricesAlike(g *spec.Graph) bool {
	if g.Whole() == f.graph.Whole() {
		return len(g.Providers) == 0
	}
	return len(g.Providers)+len(g.Whole().Providers)+len(f.graph.Providers)+len(f.graph.Whole().Providers) == 0
}

// modelNames are the models that a run may call, as provider/name, without
// those of subgraphs; not known when tools run graphs.
func (f *facts) modelNames() (names []string, known bool) {
	roles, known := f.roles(), true
	add := func(text spec.Text, role string) {
		name := text.Value
		if !text.IsSet() {
			name = role
		}
		if !strings.Contains(name, "/") {
			v := roles[name]
			if v == nil {
				v = roles["default"]
			}
			if v == nil {
				return // a call of it fails
			}
			name = v.Text.Value
		}
		known = known && !strings.Contains(name, "{{")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range f.graph.Nodes {
		if !isModel(n) {
			continue
		}
		add(text(n, "model"), "default")
		add(spec.Text{}, "compact")
		if judge := n.Field("judge"); judge != nil || n.Kind.Value == "agent" {
			named := spec.Text{}
			if v := judge.Get("model"); v != nil {
				named = v.Text
			}
			add(named, "judge")
		}
	}
	for i := range f.graph.Tools {
		known = known && f.graph.Tools[i].Value.Get("graph") == nil
	}
	if len(f.decisions()) > 0 {
		add(spec.Text{}, "router")
	}
	return names, known
}

// The rules about models: their roles, providers and prices, and the decisions that they make.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func modelRules() []Rule {
	return []Rule{
		{
			Name: "llm-decide-no-fallback", Group: "models", Severity: spec.Warning, needs: needNode,
			Summary: "no edge fires when the router model's decision fails",
			Doc: "A model may fail, time out or name no candidate. The edge with fallback: true fires then; without one the run is stuck. " +
				"It may stand on one of the llm_decide edges or on an on_success edge of the node.",
			Bad: startAt("read") + "models: {default: openai/gpt-6-luna}\n" + passNodes("read", "search", "answer") + `edges:
  - {from: read, to: search, condition: llm_decide, description: facts are missing}
  - {from: read, to: answer, condition: llm_decide, description: it can be answered}
  - {from: [search, answer], to: END}
`,
			change: []string{"can be answered}", "can be answered, fallback: true}"},
			check:  checkDecisionFallback,
		},
		{
			Name: "llm-decide-single", Group: "models", Severity: spec.Warning, needs: needNode,
			Summary: "a decision of the router model has a single candidate",
			Doc:     "One llm_decide edge is not a choice: it fires without a call. Add the other candidates, or drop the condition.",
			Bad:     startAt("read") + "models: {default: openai/gpt-6-luna}\n" + passNodes("read", "answer") + edges("from: read, to: answer, condition: llm_decide, description: it can be answered", "from: answer, to: END"),
			change:  []string{"models: {default: openai/gpt-6-luna}\n", "", ", condition: llm_decide, description: it can be answered", ""},
			check:   checkDecisionSingle,
		},
		{
			Name: "missing-model", Group: "models", Severity: spec.Error, needs: needNode,
			Summary: "a model node or a decision has no model",
			Doc: "A node that calls a model takes the one it names, by a role of models or as provider/name, else the role default; decisions take the role router, judges the role judge, and both fall back to default; a decision with a fallback edge does without. " +
				"Declare the role, or at least models: {default: provider/name}. A decision with an edge marked fallback can do without.",
			Bad:    single("ask", "output: output\n", `{kind: llm, prompt: "Why is the sky blue?", timeout: 1m}`),
			change: []string{"output: output\n", "output: output\nmodels: {default: openai/gpt-6-luna}\n"},
			check:  checkMissingModel,
		},
		{
			Name: "unknown-model-provider", Group: "models", Severity: spec.Error, needs: needNode,
			Summary: "a model names a provider that is neither built in nor declared",
			Doc:     "A model is written provider/name. Providers are anthropic, openai, scripted and those that the file declares under providers.",
			Bad:     single("ask", "output: output\nmodels: {default: opanai/gpt-6-luna}\n", `{kind: llm, prompt: "Why is the sky blue?", timeout: 1m}`),
			change:  []string{"opanai/gpt-6-luna}", "local/llama}\nproviders:\n  local: {type: openai, base_url: \"http://localhost:8080/v1/\"}"},
			check:   checkModelProvider,
		},
		{
			Name: "unknown-price", Group: "models", Severity: spec.Error, needs: needNode,
			Summary: "limits.max_cost_usd stands over a model whose price is not known",
			Doc: "A limit in money holds only where the price of each call is known. The price of a model that is not in the table, or that a server of the graph's own answers for, is not: its first call would fail with kind budget, after others were paid for. " +
				"Give the price in providers.NAME.prices, use limits.max_tokens, or take a model whose price is known (`graphrun models`).",
			Bad:    single("ask", "output: output\nlimits: {max_cost_usd: 1}\nmodels: {default: openai/gpt-of-tomorrow}\n", `{kind: llm, prompt: "Why is the sky blue?", timeout: 1m}`),
			change: []string{"max_cost_usd: 1", "max_tokens: 10000"},
			check:  checkUnknownPrice,
		},
	}
}

func checkDecisionFallback(f *facts) {
	for _, d := range f.decisions() {
		if from := d.edges[0].From; len(d.edges) > 1 && !d.fallback {
			f.report(from.Span, "the decision at %q has no fallback; mark one of its edges with fallback: true", from.Value)
		}
	}
}

func checkDecisionSingle(f *facts) {
	for _, d := range f.decisions() {
		if e := d.edges[0]; len(d.edges) == 1 {
			f.report(e.To.Span, "the decision at %q has one candidate, %q, which fires without a call", e.From.Value, e.To.Value)
		}
	}
}

// decision is the llm_decide edges of one node.
type decision struct {
	edges    []*spec.Edge
	fallback bool
}

// decisions lists the decisions in the order of their first edges.
func (f *facts) decisions() (out []*decision) {
	byNode, fallback := map[string]*decision{}, map[string]bool{}
	for _, e := range f.graph.Edges {
		from := e.From.Value
		fallback[from] = fallback[from] || e.Fallback
		if e.Condition != "llm_decide" {
			continue
		}
		if byNode[from] == nil {
			byNode[from] = &decision{}
			out = append(out, byNode[from])
		}
		byNode[from].edges = append(byNode[from].edges, e)
	}
	for _, d := range out {
		d.fallback = fallback[d.edges[0].From.Value]
	}
	return out
}

func checkMissingModel(f *facts) {
	for _, n := range f.graph.Nodes {
		if !isModel(n) {
			continue
		}
		f.checkRole(text(n, "model"), "default", n.ID, "node "+strconv.Quote(n.ID.Value))
		if judge := n.Field("judge"); judge != nil && judge.Kind == spec.Map {
			at := slices.Index(keysOf(n.Fields), "judge")
			f.checkRole(judgeModel(n), "judge", n.Fields[at].Key, "the judge of "+strconv.Quote(n.ID.Value))
		}
	}
	for _, d := range f.decisions() {
		if len(d.edges) > 1 && !d.fallback { // one edge needs no call; without a model the fallback fires
			from := d.edges[0].From
			f.checkRole(spec.Text{}, "router", from, "the decision at "+strconv.Quote(from.Value))
		}
	}
}

// judgeModel returns the model that a node names for its judge; absent for none.
func judgeModel(n *spec.Node) spec.Text {
	if v := n.Field("judge").Get("model"); v != nil && v.Kind == spec.String {
		return v.Text
	}
	return spec.Text{}
}

// checkRole reports a model that nothing declares. Without a name it is the one of a role.
func (f *facts) checkRole(named spec.Text, role string, at spec.Text, what string) {
	roles, near := f.roles(), ""
	if strings.Contains(named.Value, "/") || strings.Contains(named.Value, "{{") || withProvider(named.Value) != "" && roles[named.Value] == nil {
		return // rule unknown-model-provider
	}
	if named.IsSet() {
		role, at = named.Value, named
	}
	if named.IsSet() && !slices.Contains([]string{"router", "judge", "compact", "default"}, role) {
		near = suggest.Closest(role, keysOf(f.graph.Models))
	}
	switch span := at.At(0, len(at.Value)); {
	case roles[role] != nil, roles["default"] != nil && near == "":
	case named.IsSet():
		f.report(span, "%s wants the model role %q, which models doesn't declare", what, role).Suggestion = near
	default:
		f.report(span, "%s has no model; declare models: {%s: provider/name}", what, role)
	}
}

// roles returns the declared roles of models, also of the graph around this one.
func (f *facts) roles() map[string]*spec.Value {
	out := map[string]*spec.Value{}
	all := slices.Concat(f.graph.Whole().Models, f.graph.Models)
	for i := range all {
		out[all[i].Key.Value] = &all[i].Value
	}
	return out
}

// providers returns the declared providers, also of the graph around this one.
func (f *facts) providers() []spec.Field {
	return slices.Concat(f.graph.Providers, f.graph.Whole().Providers)
}

func checkModelProvider(f *facts) {
	known := append([]string{"anthropic", "openai", "scripted"}, keysOf(f.providers())...)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, m := range f.graph.Models {
		if m.Value.Kind == spec.String {
			f.checkProvider(m.Value.Text, known, true)
		}
	}
	for _, n := range f.graph.Nodes {
		if isModel(n) {
			f.checkProvider(text(n, "model"), known, false)
			f.checkProvider(judgeModel(n), known, false)
		}
	}
}

// checkProvider checks provider/name; whole says that a name alone is wrong too.
func (f *facts) checkProvider(model spec.Text, known []string, whole bool) {
	if !model.IsSet() || strings.Contains(model.Value, "{{") {
		return
	}
	switch name, _, ok := strings.Cut(model.Value, "/"); {
	case !ok && (whole || withProvider(name) != "") && f.roles()[name] == nil:
		d := f.report(model.At(0, len(model.Value)), "%q names no provider; write provider/name, where providers are %s", model.Value, strings.Join(known, ", "))
		d.Suggestion = withProvider(name)
	case ok && !slices.Contains(known, name):
		d := f.report(model.At(0, len(name)), "%q is not a provider; known are %s", name, strings.Join(known, ", "))
		d.Suggestion = suggest.Closest(name, known)
	}
}

// withProvider adds the provider to the name of a well-known model; "" for another.
func withProvider(model string) string {
	for _, family := range [][2]string{{"gpt-", "openai/"}, {"chatgpt-", "openai/"}, {"codex-", "openai/"}, {"claude-", "anthropic/"}} {
		if strings.HasPrefix(model, family[0]) {
			return family[1] + model
		}
	}
	return ""
}

func checkUnknownPrice(f *facts) {
	if f.graph.Limits.MaxCostUSD == 0 || f.opts.Price == nil {
		return
	}
	names, _ := bound.Models(f.graph)
	for _, name := range names {
		provider, _, ok := strings.Cut(name, "/")
		if !ok || strings.Contains(name, "{{") {
			continue // not known before the run, or no model at all
		}
		if _, known := bound.Price(f.graph, f.opts.Price, name, 1); !known {
			f.report(f.graph.Limits.Span, "the price of %q is not known, so limits.max_cost_usd can't be kept; give it in providers.%s.prices, or use limits.max_tokens", name, provider)
		}
	}
}

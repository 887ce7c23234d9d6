// unknown-price: a limit in money, and a model whose price nobody knows.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func unknownPrice() Rule {
	return Rule{
		Name: "unknown-price", Group: "models", Severity: spec.Error, needs: needNode,
		Summary: "limits.max_cost_usd stands over a model whose price is not known",
		Doc: "A limit in money holds only where the price of each call is known. The price of a model that is not in the table, or that a server of the graph's own answers for, is not: its first call would fail with kind budget, after others were paid for. " +
			"Give the price in providers.NAME.prices, use limits.max_tokens, or take a model whose price is known (`graphrun models`).",
		Bad: `graphrun: v1
name: ask
start: ask
output: output
limits: {max_cost_usd: 1}
models: {default: openai/gpt-of-tomorrow}
nodes:
  ask: {kind: llm, prompt: "Why is the sky blue?", timeout: 1m}
edges:
  - {from: ask, to: END}
`,
		change: []string{"max_cost_usd: 1", "max_tokens: 10000"},
		check:  checkUnknownPrice,
	}
}

func checkUnknownPrice(f *facts) {
	if f.graph.Limits.MaxCostUSD == 0 || f.opts.Price == nil {
		return
	}
	names, _ := f.modelNames()
	for _, name := range names {
		if strings.Contains(name, "{{") || !strings.Contains(name, "/") {
			continue // not known before the run, or no model at all
		}
		if _, known := f.price(name, 1); !known {
			f.report(f.graph.Limits.Span, "the price of %q is not known, so limits.max_cost_usd can't be kept; give it in providers.%s.prices, or use limits.max_tokens", name, providerOf(name))
		}
	}
}

// price is the most that so many tokens of a model can cost: as the file says in
// the prices of its provider, else as the table does. A provider that the file
// declares without an address is the well-known one of its type.
func (f *facts) price(name string, tokens int) (usd float64, known bool) {
	server, id, _ := strings.Cut(name, "/")
	for _, p := range slices.Concat(f.graph.Providers, f.graph.Whole().Providers) {
		if p.Key.Value != server {
			continue
		}
		if rates := p.Value.Get("prices").Get(id); rates != nil {
			return max(amount(rates.Get("input")), amount(rates.Get("output"))) * float64(tokens) / 1e6, true
		}
		kind := ""
		if v := p.Value.Get("type"); v != nil {
			kind = v.Text.Value
		}
		if p.Value.Get("base_url") != nil && kind != "scripted" {
			return 0, false
		}
		return f.opts.Price(kind+"/"+id, tokens)
	}
	return f.opts.Price(name, tokens)
}

func amount(v *spec.Value) float64 {
	switch n := v.Data().(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

func providerOf(name string) string {
	server, _, _ := strings.Cut(name, "/")
	return server
}

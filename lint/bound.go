// Bounds: the fewest and the most steps, model calls and tokens of a run, told
// from the graph before anything runs.

package lint

import (
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Bounds of one graph. The least values are those of runs that complete, the
// most those of any run.
type Bounds struct {
	// Exact says that every way through the graph was followed. Otherwise the
	// bounds hold too, but are wider.
	Exact                   bool
	Steps, LLMCalls, Tokens Range
	CostUSD                 Range
}

// Range is a lower and an upper bound.
type Range struct {
	Min float64
	// Max is +Inf when nothing bounds the value.
	Max float64
	// MinPath and MaxPath are runs that attain the bounds, as the nodes in the
	// order of their execution; nil when no single run is known that does.
	MinPath, MaxPath []string
	// Limit names the limit that Max comes from, as in limits; "" when the
	// graph itself bounds it.
	Limit string
}

// cost is what something takes: steps and model calls.
type cost [2]float64

const (
	inSteps = iota
	inCalls
)

func (c cost) plus(d cost) cost {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// span is the least and the most that something takes.
type span struct{ least, most cost }

func (s span) plus(t span) span { return span{s.least.plus(t.least), s.most.plus(t.most)} }

// Bound computes the bounds of a graph without errors. ok is false when the
// graph can't be understood as a whole, or when no run of it completes.
func Bound(g *spec.Graph, opts Options) (b Bounds, ok bool) {
	return boundGraph(g, opts, maxChildren)
}

// maxChildren is how deep graphs in graphs are followed.
const maxChildren = 8

func boundGraph(g *spec.Graph, opts Options, depth int) (Bounds, bool) {
	bound, found := bind.Check(g, opts.Kinds, nil)
	f := newFacts(g, bound, opts)
	if found.HasErrors() || !f.wellFormed() || !f.hasGuards() {
		return Bounds{}, false
	}
	w := &boundWalk{f: f, flow: f.flow(), known: map[string]int{}, choices: map[string][]way{}, depth: depth}
	w.prepare()
	var out Bounds
	if out.Exact = w.explore(); !out.Exact {
		w.coarse()
	}
	if !w.least(&out) {
		return Bounds{}, false
	}
	w.most(&out)
	w.limits(&out)
	return out, true
}

// hasGuards reports whether every conditional edge has a condition that compiled.
func (f *facts) hasGuards() bool {
	for i, e := range f.graph.Edges {
		if (e.When.IsSet() || e.Condition == "conditional") && f.bound.Edges[i].When == nil {
			return false
		}
	}
	return true
}

// limits bounds what only limits bound.
func (w *boundWalk) limits(out *Bounds) {
	limits := &w.f.graph.Limits
	if out.LLMCalls.Max == 0 {
		return
	}
	// Nothing but a limit bounds the length of a prompt, or its price.
	out.Tokens.Max, out.CostUSD.Max = math.Inf(1), math.Inf(1)
	if limits.MaxTokens > 0 {
		out.Tokens.Max, out.Tokens.Limit = float64(limits.MaxTokens), "max_tokens"
	}
	if limits.MaxCostUSD > 0 {
		out.CostUSD.Max, out.CostUSD.Limit = limits.MaxCostUSD, "max_cost_usd"
	}
	if most, limit := w.price(out.Tokens.Max); most < out.CostUSD.Max {
		out.CostUSD.Max, out.CostUSD.Limit = most, limit
	}
}

// price is the most that so many tokens can cost, whichever model they go to,
// and the limit that it comes from: none for models that cost nothing.
func (w *boundWalk) price(tokens float64) (usd float64, limit string) {
	names, known := w.f.modelNames()
	if w.f.opts.Price == nil || !known {
		return math.Inf(1), ""
	}
	for _, name := range names {
		one, known := w.f.opts.Price(name, 1)
		if !known || one > 0 && math.IsInf(tokens, 1) {
			return math.Inf(1), ""
		}
		if one > 0 {
			all, known := w.f.opts.Price(name, int(tokens))
			if !known {
				return math.Inf(1), ""
			}
			usd, limit = max(usd, all), "max_tokens"
		}
	}
	return usd, limit
}

// modelNames are the models that a run may call, as provider/name; not known
// when other graphs may call more.
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
		if n.Kind.Value == "graph" {
			known = false
		}
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

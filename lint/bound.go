// Bounds: the fewest and the most steps, model calls and tokens of a run, told
// from the graph before anything runs.

package lint

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Bounds of one graph. The least values are those of runs that complete, the
// most those of any run.
type Bounds struct {
	// Followed says that every way through the graph was followed. Otherwise the
	// bounds hold too, but are wider.
	Followed                bool
	Steps, LLMCalls, Tokens Range
	CostUSD                 Range
	// Loops of the graph, without those of graphs in it.
	Loops []Loop
	// models are those that may be called, as provider/name; priced says that they are
	// all, and cost the same in a graph around this one.
	models []string
	priced bool
	// Graph is what the bounds are of.
	Graph *spec.Graph
	// Subgraphs are the bounds of those that nodes run, by the names of these, as far as
	// anything is known of them.
	Subgraphs map[string]*Bounds
	walk      *boundWalk
	// exact is the result of Attain, once it was asked for.
	attained, exact bool
}

// Range is a lower and an upper bound.
type Range struct {
	Min float64
	// Max is +Inf when nothing bounds the value.
	Max float64
	// MinPath and MaxPath are ways that attain the bounds, as the nodes in the order
	// of their execution; nil when no single one is known that does. Values that
	// conditions read may keep a run from going there: only a run that is tried tells.
	MinPath, MaxPath []string
	// Limit names the limit that Max comes from, as in limits; "" when the
	// graph itself bounds it.
	Limit string
	// Why says, when Max is +Inf, what is not bounded, and what would bound it.
	Why string
}

// by are the ranges in the order of a cost.
func (b *Bounds) by() [4]*Range { return [...]*Range{&b.Steps, &b.LLMCalls, &b.Tokens, &b.CostUSD} }

// cost is what something takes: steps, model calls, tokens and US dollars.
type cost [4]float64

const (
	inSteps = iota
	inCalls
	inTokens
	inUSD
)

// without says that nothing is known of the most.
var without = cost{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}

func (c cost) times(n float64) cost {
	for i := range c {
		if c[i] > 0 {
			c[i] *= n
		}
	}
	return c
}

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
	return (&boundWalk{depth: maxChildren, family: family{}}).bounds(g, opts)
}

// maxChildren is how deep graphs in graphs are followed.
const maxChildren = 8

// bounds are those of a graph in which nothing was followed yet.
func (w *boundWalk) bounds(g *spec.Graph, opts Options) (Bounds, bool) {
	bound, found := bind.Check(g, opts.Kinds, nil)
	w.f = newFacts(g, bound, opts)
	if found.HasErrors() || !w.f.WellFormed() || !w.f.hasGuards() {
		return Bounds{}, false
	}
	w.flow = w.f.flow()
	w.prepare()
	var out Bounds
	w.findVariables()
	out.Followed = w.explore()
	if !out.Followed && len(w.vars) > 0 {
		w.vars, w.varOf = nil, nil // too many values
		out.Followed = w.explore()
	}
	if !out.Followed {
		w.coarse()
	}
	ends := w.least(&out)
	if !out.Followed {
		w.atLeast(&out)
	}
	w.most(&out)
	w.capped(&out)
	if cut := w.cutShort(&out, ends); !ends && !cut {
		return Bounds{}, false
	}
	w.finallyCalls(&out)
	out.models, out.priced = w.models()
	out.Graph, out.Subgraphs, out.walk = g, w.subgraphBounds(), w
	w.known, w.queue, w.moves, w.choices = nil, nil, nil, nil
	w.limits(&out)
	out.Loops = w.f.loopList()
	return out, true
}

// cutShort counts the runs that complete because of on_max_steps, which a limit cuts
// short; false when none does. What is at work then is no step.
func (w *boundWalk) cutShort(out *Bounds, ends bool) bool {
	g := w.f.graph
	loses := false // a node that always fails at its limit of visits may be tried for ever
	for v, n := range g.Nodes {
		loses = loses || w.limit[v] > 0 && n.OnMaxVisits != "skip" && w.flow.Cyclic[v] &&
			slices.ContainsFunc(w.flow.Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure })
	}
	if g.Limits.OnMaxSteps != "return_last" && g.Limits.OnMaxSteps != "flag" || out.Steps.Limit != "max_steps" && !loses {
		return false
	}
	least := float64(g.Limits.MaxSteps)
	if w.f.flow().FansOut || loses {
		least = 1
	}
	if !ends || least < out.Steps.Min {
		out.Steps.Min, out.Steps.MinPath = least, nil
	}
	if !ends || out.LLMCalls.Min > 0 {
		out.LLMCalls.Min, out.LLMCalls.MinPath = 0, nil
	}
	return true
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

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

// cost is what something takes: steps, model calls, tokens and US dollars.
type cost [4]float64

const (
	inSteps = iota
	inCalls
	inTokens
	inUSD
)

// unknownCost is the most of something of which nothing is known.
var unknownCost = cost{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}

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

// bounds computes the bounds of a graph.
func (w *boundWalk) bounds(g *spec.Graph, opts Options) (b Bounds, ok bool) {
	bound, found := bind.Check(g, opts.Kinds, nil)
	w.f = newFacts(g, bound, opts)
	if found.HasErrors() || !w.f.WellFormed() || !w.f.hasGuards() {
		return b, false
	}
	w.prepare()
	m := w.followAll()
	ends := true
	if b.Followed = m != nil; b.Followed {
		if b.Steps.Min, b.Steps.MinPath, ends = m.cheapest(inSteps); ends {
			b.LLMCalls.Min, b.LLMCalls.MinPath, _ = m.cheapest(inCalls)
		}
		w.findMostExpensivePaths(m, &b)
	} else {
		ends = w.atLeast(&b)
		w.byLimit(&b)
	}
	w.byShape(&b)
	if cut := w.cutShort(&b, ends); !ends && !cut {
		return Bounds{}, false
	}
	w.finallyCalls(&b)
	b.models, b.priced = w.models()
	b.Graph, b.Subgraphs, b.walk = g, map[string]*Bounds{}, w
	for _, n := range g.Nodes {
		if inner := w.child(n); inner != nil {
			b.Subgraphs[n.ID.Value] = inner
		}
	}
	w.limits(&b)
	b.Loops = w.f.loopList()
	return b, true
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

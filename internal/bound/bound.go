// Package bound computes the fewest and the most steps, model calls, tokens and US dollars
// of a run from its graph.
//
// Where one token goes through the graph at a time, it follows every path (walk.go).
// Otherwise it adds up what branches take (shape.go).
package bound

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// Options hold what Of needs besides the graph. The zero value works.
type Options struct {
	// Kinds are the node kinds besides the built-in ones.
	Kinds []spec.Kind
	// Load returns the text of another graph file; see lint.Options.
	Load func(path string) ([]byte, error)
	// Price returns the highest cost of so many tokens of a model, in US dollars.
	Price func(model string, tokens int) (usd float64, known bool)
}

// Bounds are the bounds of one graph: the least of runs that complete, the most of all.
type Bounds struct {
	// Followed says that every path was followed. Otherwise the bounds hold, but are wider.
	Followed                bool
	Steps, LLMCalls, Tokens Range
	CostUSD                 Range

	graph     *spec.Graph
	walk      *walk
	subgraphs map[string]*Bounds // by node
	models    []string           // that a run may call, as provider/name
	priced    bool               // models are all, and cost the same in a graph around this one
	attained  *bool              // the result of Attain
}

// Range is a lower and an upper bound.
type Range struct {
	Min float64
	// Max is +Inf when nothing bounds the value.
	Max float64
	// MinPath and MaxPath are the nodes of paths with these values, or nil. Values that
	// conditions read may keep runs from these paths; see Attain.
	MinPath, MaxPath []string
	// Limit is the limit that sets Max, or "" when the graph itself bounds it.
	Limit string
	// Why says, when Max is +Inf, what would bound it.
	Why string
}

// cost is a number of steps, model calls, tokens and US dollars.
type cost [4]float64

const (
	inSteps = iota
	inCalls
	inTokens
	inUSD
)

// unbounded is the most of something unknown.
var unbounded = cost{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}

func (c cost) times(n float64) cost {
	for i := range c {
		if c[i] *= n; math.IsNaN(c[i]) { // none of any number
			c[i] = 0
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

func (c cost) max(d cost) cost {
	for i := range c {
		c[i] = max(c[i], d[i])
	}
	return c
}

// span is the least and the most that something takes.
type span struct{ least, most cost }

func (s span) plus(t span) span { return span{s.least.plus(t.least), s.most.plus(t.most)} }

// walk computes the bounds of one graph.
type walk struct {
	*controlflow.Graph
	bound  *bind.Graph
	opts   Options
	access []dataflow.Access
	uses   *dataflow.Uses
	loader *subgraph.Loader
	depth  int                // of subgraphs that are still read
	file   string             // of the graph; "" for the outermost
	known  map[string]*Bounds // of subgraphs by path; nil where nothing is known

	costs  []span // of one execution, by node
	limit  []int  // of visits, by node; 0 for none
	vars   []variable
	varOf  map[string]int
	solver solve.Solver
	far    float64 // numbers beyond it are not told apart
}

// maxDepth is how deep subgraphs are read.
const maxDepth = 8

// Of computes the bounds of a graph without errors. ok is false when the graph can't be
// analysed as a whole, or when no run of it completes.
func Of(g *spec.Graph, opts Options) (b Bounds, ok bool) {
	return (&walk{depth: maxDepth, known: map[string]*Bounds{}, opts: opts}).bounds(g)
}

func (w *walk) bounds(g *spec.Graph) (b Bounds, ok bool) {
	vertices := controlflow.NewVertices(g)
	bound, found := bind.Check(g, w.opts.Kinds, nil)
	if found.HasErrors() || !vertices.WellFormed() || lacksCondition(g, bound) {
		return b, false
	}
	w.Graph, w.bound = controlflow.New(vertices, vertices.EdgesOut(), bound), bound
	w.access, w.uses = dataflow.Accesses(g, bound), dataflow.NewUses(g, bound, vertices.From)
	w.loader = subgraph.New(g, w.opts.Kinds, w.opts.Load, func(_ *spec.File, ds spec.Diagnostics) spec.Diagnostics { return ds })
	w.prepare()
	m := w.followAll()
	ends := true
	if b.Followed = m != nil; b.Followed {
		if b.Steps.Min, b.Steps.MinPath, ends = m.findCheapest(inSteps); ends {
			b.LLMCalls.Min, b.LLMCalls.MinPath, _ = m.findCheapest(inCalls)
		}
		w.boundByPaths(m, &b)
	} else {
		ends = w.boundBelow(&b)
		w.boundByLimit(&b)
	}
	w.boundByShape(&b)
	if cut := w.countCutShort(&b, ends); !ends && !cut {
		return Bounds{}, false
	}
	for v, n := range g.Nodes {
		if n.Final {
			most := w.costs[v].most
			b.LLMCalls.Max += most[inCalls]
			b.Tokens.Max += most[inTokens]
			b.CostUSD.Max += most[inUSD]
		}
	}
	b.models, b.priced = w.models()
	b.graph, b.walk, b.subgraphs = g, w, map[string]*Bounds{}
	for _, n := range g.Nodes {
		if inner := w.child(n); inner != nil {
			b.subgraphs[n.ID.Value] = inner
		}
	}
	w.applyLimits(&b)
	return b, true
}

// lacksCondition reports whether a conditional edge has no condition that compiled.
func lacksCondition(g *spec.Graph, bound *bind.Graph) bool {
	return slices.ContainsFunc(g.Edges, func(e *spec.Edge) bool {
		return (e.When.IsSet() || e.Condition == "conditional") && bound.Edges[e.Index].When == nil
	})
}

// countCutShort counts the runs that complete because on_max_steps cuts them short. It
// returns false if there are none.
func (w *walk) countCutShort(out *Bounds, ends bool) bool {
	g := w.Source
	mayLoop := false // a node that always fails at its limit of visits may be tried for ever
	for v, n := range g.Nodes {
		mayLoop = mayLoop || w.limit[v] > 0 && n.OnMaxVisits != "skip" && w.Cyclic[v] && w.Has(v, controlflow.OnFailure)
	}
	completes := g.Limits.OnMaxSteps == "return_last" || g.Limits.OnMaxSteps == "flag"
	if !completes || out.Steps.Limit != "max_steps" && !mayLoop {
		return false
	}
	least := float64(g.Limits.MaxSteps)
	if w.FansOut || mayLoop {
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

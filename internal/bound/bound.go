// Package bound computes the fewest and the most steps, model calls, tokens and US dollars of a run.
// It follows every path of a graph without branches (walk.go), or adds up their costs (shape.go).
package bound

import (
	"math"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Options configure Of. The zero value works.
type Options struct {
	// Load returns the text of another graph file; see lint.Options.
	Load func(path string) ([]byte, error)
	// Price returns the highest cost of so many tokens of a model, in US dollars.
	Price func(model string, tokens int) (usd float64, known bool)
}

// Bounds are the bounds of one graph: lower ones for runs that complete, upper ones for all.
type Bounds struct {
	// Followed says that every path was followed. Otherwise the bounds hold, but are wider.
	Followed                bool
	Steps, LLMCalls, Tokens Range
	CostUSD                 Range

	walk      *walk
	models    []string // the models a run may call, as provider/name
	priced    bool     // models is complete, and a graph around this one has the same prices
	foundRuns *bool    // the result of FindRuns
}

// Range is a lower and an upper bound.
type Range struct {
	Min float64
	// Max is +Inf when nothing bounds the value.
	Max float64
	// MinPath and MaxPath are the nodes of paths with these values, or nil. See FindRuns for runs.
	MinPath, MaxPath []string
	// Limit is the limit that sets Max, or "" when the graph itself bounds it.
	Limit string
	// Why says what would bound an infinite Max.
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

// unbounded is the upper bound of something unknown.
var unbounded = cost{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}

func (c cost) multiply(n float64) cost {
	for i := range c {
		if c[i] *= n; math.IsNaN(c[i]) { // 0 times infinity
			c[i] = 0
		}
	}
	return c
}

func (c cost) add(d cost) cost {
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

// span is a lower and an upper bound of a cost.
type span struct{ least, most cost }

func (s span) add(t span) span { return span{s.least.add(t.least), s.most.add(t.most)} }

// walk computes the bounds of one graph.
type walk struct {
	*controlflow.Graph
	bound  *bind.Graph
	opts   Options
	access []dataflow.Access
	uses   *dataflow.Uses
	loader *subgraph.Loader
	depth  int                // how many levels of subgraphs are still loaded
	file   string             // the file of the graph; "" for the outermost
	known  map[string]*Bounds // bounds of subgraphs by path; nil if there are none

	costs  []span // by node, for one execution
	limit  []int  // by node, the most visits; 0 for any number
	vars   []variable
	varOf  map[string]int
	solver solve.Solver
	far    float64 // larger numbers are treated as equal
}

// maxDepth is how many levels of subgraphs are loaded.
const maxDepth = 8

// Of computes the bounds of a graph without errors. ok is false if it is unknown or no run completes.
func Of(g *spec.Graph, opts Options) (b Bounds, ok bool) {
	keepAll := func(_ *spec.File, found spec.Diagnostics) spec.Diagnostics { return found }
	w := walk{depth: maxDepth, known: map[string]*Bounds{}, opts: opts, loader: subgraph.New(g, nil, opts.Load, keepAll)}
	return w.computeBounds(g)
}

func (w *walk) computeBounds(g *spec.Graph) (b Bounds, ok bool) {
	vertices := controlflow.NewVertices(g)
	bound, found := bind.Bind(g, nil, nil)
	if found.HasErrors() || !vertices.WellFormed() {
		return b, false
	}
	w.Graph, w.bound = controlflow.New(vertices, bound), bound
	w.access, w.uses = dataflow.Accesses(g, bound), dataflow.NewUses(g, bound, vertices.From)
	w.costs, w.limit = make([]span, w.End), make([]int, w.End)
	for v, n := range g.Nodes {
		w.costs[v], w.limit[v] = w.boundNode(n), n.VisitLimit(g)
	}
	w.findVariables()
	m := w.followGraph()
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
	if cut := w.boundCutShort(&b, ends); !ends && !cut {
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
	b.models, b.priced = w.listModels()
	b.walk = w
	w.applyLimits(&b)
	return b, true
}

// boundCutShort lowers the lower bounds for runs that on_max_steps completes, if there are such runs.
func (w *walk) boundCutShort(out *Bounds, ends bool) bool {
	g := w.Source
	mayLoop := false // between a node at its limit of visits and what catches its failure
	for v, n := range g.Nodes {
		mayLoop = mayLoop || w.limit[v] > 0 && n.OnMaxVisits != "skip" && w.Cyclic[v] && w.HasGroup(v, controlflow.OnFailure)
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

// FindRuns searches for runs that reach the bounds of steps and model calls. It replaces the path of
// each bound with the path of such a run, or nil. It reports whether it followed all paths to runs.
func (b *Bounds) FindRuns() bool {
	if b.foundRuns != nil {
		return *b.foundRuns
	}
	exact := b.Followed
	b.foundRuns = &exact
	g := b.walk.Source
	for _, n := range g.Nodes {
		if inner := b.walk.loadChild(n); inner != nil {
			inner.FindRuns()
		}
	}
	world, err := explore.NewWorld(g, nil)
	for _, aim := range []struct {
		metric int
		most   bool
		total  float64
		path   *[]string
	}{
		{inSteps, false, b.Steps.Min, &b.Steps.MinPath},
		{inCalls, false, b.LLMCalls.Min, &b.LLMCalls.MinPath},
		{inCalls, true, b.LLMCalls.Max, &b.LLMCalls.MaxPath},
		{inSteps, true, b.Steps.Max, &b.Steps.MaxPath},
	} {
		if aim.metric == inCalls && b.LLMCalls.Max == 0 {
			continue
		}
		guide := *aim.path
		*aim.path = nil
		if err != nil || math.IsInf(aim.total, 1) || aim.metric == inCalls && guide == nil || !aim.most && b.Steps.Min > b.Steps.Max {
			exact = false
			continue
		}
		var way []int
		for _, name := range guide {
			way = append(way, g.Node(name).Index)
		}
		a := world.FindRun(way, func(r *explore.Run) bool {
			if !r.State.HasEnded() || !aim.most && r.State.Status != machine.Completed || b.countTaken(r, aim.metric, aim.most) != aim.total {
				return false
			}
			*aim.path = r.State.Scope("").PathNodes()
			return true
		})
		if !a.Found {
			*aim.path, exact = nil, false
		}
	}
	return exact
}

// countTaken counts the steps or the model calls of a run in which each execution and subgraph
// takes its most or its least. It returns NaN if no run of a subgraph is known to do so.
func (b *Bounds) countTaken(r *explore.Run, metric int, most bool) float64 {
	total := float64(r.State.Steps())
	if metric == inCalls {
		total = 0
		for _, c := range r.Chosen {
			total += b.countCalls(&c, most)
		}
	}
	for _, v := range r.Path {
		inner := b.walk.loadChild(b.walk.Source.Nodes[v])
		if inner == nil {
			continue
		}
		of := inner.Steps
		if metric == inCalls {
			of = inner.LLMCalls
		}
		switch {
		case of.Max == 0:
		case most && of.MaxPath != nil:
			total += of.Max
		case !most && of.MinPath != nil:
			total += of.Min
		default:
			return math.NaN()
		}
	}
	return total
}

// countCalls returns the most or the fewest model calls of an execution, apart from subgraphs.
func (b *Bounds) countCalls(c *explore.Chosen, most bool) float64 {
	n := b.walk.Source.Nodes[c.Node]
	var s span
	switch {
	case c.Decision:
		s = b.walk.boundDecision(n.Index)
	case n.Kind.Value == "graph":
		return 0
	default:
		if s = b.walk.boundElement(n); n.Cache != nil || b.walk.Source.Cache != nil {
			s.least = cost{}
		}
	}
	switch {
	case most:
		return s.most[inCalls]
	case c.Failure == nil:
		return s.least[inCalls]
	}
	return 0
}

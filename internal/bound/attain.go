// Runs that attain the bounds.

package bound

import (
	"math"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// Attain searches for runs that reach the bounds of steps and model calls, and replaces the path of
// each bound by that of a run or by nil. It reports whether it followed all paths to runs.
func (b *Bounds) Attain() bool {
	if b.attained != nil {
		return *b.attained
	}
	exact := b.Followed
	b.attained = &exact
	g := b.walk.Source
	for _, n := range g.Nodes {
		if inner := b.walk.loadChild(n); inner != nil {
			inner.Attain()
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
		a := world.Ask(way, func(r *explore.Run) bool {
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

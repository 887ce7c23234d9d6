// Runs that attain the bounds.

package bound

import (
	"math"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// Attain replaces the paths to the bounds of steps and model calls by those of runs, or
// nil if no run was found. It reports whether all paths were followed and every bound has
// a run.
func (b *Bounds) Attain() bool {
	if b.attained != nil {
		return *b.attained
	}
	exact := b.Followed
	b.attained = &exact
	for _, inner := range b.subgraphs { //lint:ignore mapiter each by itself
		inner.Attain()
	}
	world, err := explore.NewWorld(b.graph, b.walk.opts.Kinds)
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
			way = append(way, b.graph.Node(name).Index)
		}
		a := world.Ask(way, func(r *explore.Run) bool {
			if !r.State.Ended() || !aim.most && r.State.Status != machine.Completed || b.countTaken(r, aim.metric, aim.most) != aim.total {
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

// countTaken returns the steps or the model calls of a run, with the least or the most of its
// executions and subgraphs; NaN if no run of a subgraph attains that.
func (b *Bounds) countTaken(r *explore.Run, metric int, most bool) float64 {
	total := float64(r.State.Steps())
	if metric == inCalls {
		total = 0
		for _, c := range r.Chosen() {
			total += b.callsOf(&c, most)
		}
	}
	for _, v := range r.Path {
		inner := b.subgraphs[b.graph.Nodes[v].ID.Value]
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

// callsOf returns the most or the fewest model calls of an execution, without those of
// subgraphs.
func (b *Bounds) callsOf(c *explore.Chosen, most bool) float64 {
	n := b.graph.Nodes[c.Node]
	var s span
	switch {
	case c.Decision:
		s = b.walk.decideCost(n.Index)
	case n.Kind.Value == "graph":
		return 0
	default:
		if s = b.walk.elementCost(n); n.Cache != nil || b.graph.Cache != nil {
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

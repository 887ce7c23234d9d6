// Whether runs attain the bounds.

package lint

import (
	"math"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// Attain looks for runs that attain the bounds of steps and model calls, and keeps their
// paths; those without such a run are nil. It reports whether all ways were followed and
// every bound has a run.
func (b *Bounds) Attain() bool {
	if b.attained {
		return b.exact
	}
	b.attained, b.exact = true, b.Followed
	for _, inner := range b.Subgraphs { //lint:ignore mapiter each by itself
		inner.Attain()
	}
	world, err := explore.NewWorld(b.Graph, b.walk.f.opts.Kinds)
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
			b.exact = false
			continue
		}
		var way []int
		for _, name := range guide {
			way = append(way, b.Graph.Node(name).Index)
		}
		a := world.Ask(way, func(r *explore.Run) bool {
			if !r.State.Ended() || !aim.most && r.State.Status != machine.Completed || b.taken(r, aim.metric, aim.most) != aim.total {
				return false
			}
			*aim.path = r.State.Scope("").PathNodes()
			return true
		})
		b.exact = b.exact && a.Found
	}
	return b.exact
}

// taken returns the steps or the model calls of a run, with the least or the most of its
// executions and subgraphs; NaN if no run of a subgraph attains that.
func (b *Bounds) taken(r *explore.Run, metric int, most bool) float64 {
	total := 0.0
	if metric == inSteps {
		total = float64(r.State.Steps())
	} else {
		for _, c := range r.Chosen() {
			total += b.callsOf(&c, most)
		}
	}
	for _, v := range r.Path {
		inner := b.Subgraphs[b.Graph.Nodes[v].ID.Value]
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

// callsOf returns the most or the fewest model calls of one execution, without those of
// subgraphs.
func (b *Bounds) callsOf(c *explore.Chosen, most bool) float64 {
	w, n := b.walk, b.Graph.Nodes[c.Node]
	var s span
	switch {
	case c.Decision:
		s = w.decideCost(w.candidates(n.Index))
	case n.Kind.Value == "graph":
		return 0
	default:
		if s = w.elementCost(n); n.Cache != nil || b.Graph.Cache != nil {
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

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
	for _, aim := range []*struct {
		total     float64
		path      *[]string
		completes bool
		weight    func(r *explore.Run) float64
	}{
		{b.Steps.Min, &b.Steps.MinPath, true, func(r *explore.Run) float64 { return b.stepsOf(r, false) }},
		{b.LLMCalls.Min, &b.LLMCalls.MinPath, true, func(r *explore.Run) float64 { return b.callsOf(r, false) }},
		{b.LLMCalls.Max, &b.LLMCalls.MaxPath, false, func(r *explore.Run) float64 { return b.callsOf(r, true) }},
		{b.Steps.Max, &b.Steps.MaxPath, false, func(r *explore.Run) float64 { return b.stepsOf(r, true) }},
	} {
		calls := aim.path == &b.LLMCalls.MinPath || aim.path == &b.LLMCalls.MaxPath
		if calls && b.LLMCalls.Max == 0 {
			continue
		}
		guide := *aim.path
		*aim.path = nil
		if err != nil || math.IsInf(aim.total, 1) || calls && guide == nil || aim.completes && b.Steps.Min > b.Steps.Max {
			b.exact = false
			continue
		}
		var way []int
		for _, name := range guide {
			way = append(way, b.Graph.Node(name).Index)
		}
		a := world.Ask(way, func(r *explore.Run) bool {
			if !r.State.Ended() || aim.completes && r.State.Status != machine.Completed || aim.weight(r) != aim.total {
				return false
			}
			*aim.path = r.State.Scope("").PathNodes()
			return true
		})
		b.exact = b.exact && a.Found
	}
	return b.exact
}

// stepsOf returns the steps of a run, with the least or the most of the subgraphs that its
// nodes run, or NaN where no run attains that.
func (b *Bounds) stepsOf(r *explore.Run, most bool) float64 {
	steps := float64(r.State.Steps())
	for _, v := range r.Path {
		if inner := b.Subgraphs[b.Graph.Nodes[v].ID.Value]; inner != nil {
			steps += attainedBy(&inner.Steps, most)
		}
	}
	return steps
}

// callsOf returns how often a run calls models, at most or at least; NaN if no run
// attains that.
func (b *Bounds) callsOf(r *explore.Run, most bool) float64 {
	calls := 0.0
	for _, c := range r.Chosen() {
		n := b.Graph.Nodes[c.Node]
		least, greatest := b.Calls(n.ID.Value, c.Decision)
		switch {
		case most:
			calls += greatest
		case c.Failure == nil:
			calls += least
		}
	}
	for _, v := range r.Path {
		if inner := b.Subgraphs[b.Graph.Nodes[v].ID.Value]; inner != nil && inner.LLMCalls.Max > 0 {
			calls += attainedBy(&inner.LLMCalls, most)
		}
	}
	return calls
}

// attainedBy returns a bound for which a run is known, else NaN.
func attainedBy(r *Range, most bool) float64 {
	switch {
	case most && r.MaxPath != nil:
		return r.Max
	case !most && r.MinPath != nil:
		return r.Min
	}
	return math.NaN()
}

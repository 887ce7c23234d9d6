// Choosing a small set of generated cases, and simplifying them.

package flowtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// cost says which of two runs that fire the same edges is easier to read.
func (t *tried) cost() int {
	cost := 2*len(t.path) + len(t.choices) + 2*len(t.input)
	if len(t.input) > 0 {
		cost += 2
	}
	for _, c := range t.choices {
		if !c.usual {
			cost++
		}
		if c.failure != nil || c.absent > 0 {
			cost += 4
		}
	}
	return cost
}

// countMissing counts the edges of a set that a run does not fire.
func (t *tried) countMissing(edges map[int]bool) int {
	n := 0
	for e := range edges {
		if !t.fired[e] {
			n++
		}
	}
	return n
}

// smallest returns a small set of the runs that fires every edge that they fire together.
func (s *search) smallest() []*tried {
	all := map[int]bool{}
	for _, t := range s.runs {
		maps.Copy(all, t.fired)
	}
	without := func(edges map[int]bool, runs ...*tried) map[int]bool {
		left := maps.Clone(edges)
		for _, t := range runs {
			maps.DeleteFunc(left, func(e int, _ bool) bool { return t.fired[e] })
		}
		return left
	}
	var out []*tried
	for left := all; len(left) > 0; left = without(all, out...) {
		out = append(out, s.best(left))
	}
	for i := range out { // a simpler run may fire what the others don't
		out[i] = s.best(without(all, slices.Concat(out[:i], out[i+1:])...))
	}
	slices.SortStableFunc(out, func(a, b *tried) int { return len(a.path) - len(b.path) })
	return out
}

// best returns the run that fires most of some edges, and of these the simplest.
func (s *search) best(edges map[int]bool) *tried {
	return slices.MinFunc(s.runs, func(a, b *tried) int {
		return cmp.Or(a.countMissing(edges)-b.countMissing(edges), a.cost()-b.cost())
	})
}

// simplify drops inputs and unusual outcomes that the runs can do without.
func (s *search) simplify(ctx context.Context, runs []*tried) []*tried {
	left := maxShrinks
	out := make([]*tried, len(runs))
	for i, t := range runs {
		for simpler := t; simpler != nil; {
			t, simpler = simpler, s.simpler(ctx, simpler, &left)
		}
		out[i] = t
	}
	return out
}

// simpler returns a run that fires the same edges with one input less or one usual
// outcome more, or nil.
func (s *search) simpler(ctx context.Context, t *tried, left *int) *tried {
	better := func(input map[string]any, plan []choice) *tried {
		if *left--; *left < 0 || ctx.Err() != nil {
			return nil
		}
		other := s.try(input, plan)
		if other == nil || len(other.fired) == 0 || other.countMissing(t.fired) > 0 || other.cost() >= t.cost() {
			return nil
		}
		return other
	}
	for _, name := range sortedNames(t.input) {
		if key := s.graph.Key(name); key != nil && key.Required {
			continue
		}
		input := maps.Clone(t.input)
		delete(input, name)
		if other := better(input, t.choices); other != nil {
			return other
		}
	}
	for i, c := range t.choices {
		if c.usual {
			continue
		}
		plan := slices.Clone(t.choices)
		plan[i].option = c.instead
		if other := better(t.input, plan); other != nil {
			return other
		}
	}
	return nil
}

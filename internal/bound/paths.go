// The cheapest and the most expensive paths through states.

package bound

import (
	"math"
	"slices"
)

// The first states: the run has completed, it has ended otherwise, it begins.
const (
	completed = iota
	ended
	begun
)

// moves is a graph of states.
type moves struct {
	states int
	list   []move
	name   func(v int) string
}

// move is one step.
type move struct {
	from, to int
	span     span
	ran      int // the node; -1 if it refused the visit, which is not a step
}

// findCheapest returns the fewest steps or calls of a path that completes.
func (m *moves) findCheapest(metric int) (total float64, path []string, ok bool) {
	const unit = 1e6
	best, via := slices.Repeat([]float64{math.Inf(1)}, m.states), slices.Repeat([]int{-1}, m.states)
	best[begun] = 0
	for changed := true; changed; {
		changed = false
		for i := range m.list {
			one := &m.list[i]
			if sum := best[one.from] + unit*one.span.least[metric] + one.span.least[1-metric]; sum < best[one.to] {
				best[one.to], via[one.to], changed = sum, i, true
			}
		}
	}
	for at := completed; via[at] >= 0; at = m.list[via[at]].from {
		path = m.appendNode(path, via[at])
	}
	slices.Reverse(path)
	return math.Floor(best[completed] / unit), path, via[completed] >= 0
}

// appendNode appends the node of a move to a path.
func (m *moves) appendNode(path []string, i int) []string {
	if v := m.list[i].ran; v >= 0 {
		return append(path, m.name(v))
	}
	return path
}

// maxRelaxed limits the moves that findMostExpensive tries.
const maxRelaxed = 5_000_000

// arrival is the most expensive path to a state in some number of steps.
type arrival struct {
	total      float64
	via, steps int // the last move, and the steps before it
}

// findMostExpensive returns the most expensive path of at most limit steps. cut says that others exist.
func (m *moves) findMostExpensive(metric, limit int) (total float64, path []string, cut bool) {
	var arrivals [][]arrival // by steps and state
	reach := func(steps, state int, by arrival) bool {
		for len(arrivals) <= steps {
			arrivals = append(arrivals, slices.Repeat([]arrival{{math.Inf(-1), -1, 0}}, m.states))
		}
		isBetter := by.total > arrivals[steps][state].total
		if isBetter {
			arrivals[steps][state] = by
		}
		return isBetter
	}
	last := arrival{via: -1}
	reach(0, begun, last)
	for steps := 0; steps < len(arrivals); steps++ {
		if steps*len(m.list) > maxRelaxed {
			return math.Inf(1), nil, true
		}
		for changed := true; changed; { // refused visits stay in this layer
			changed = false
			for i := range m.list {
				one := &m.list[i]
				by := arrival{arrivals[steps][one.from].total + one.span.most[metric], i, steps}
				takes := int(one.span.least[inSteps])
				switch {
				case math.IsInf(arrivals[steps][one.from].total, -1):
				case takes > 0 && steps == limit:
					cut = true
				case reach(min(steps+takes, limit), one.to, by):
					if changed = true; by.total > last.total {
						last = by
					}
				}
			}
		}
	}
	for total = last.total; last.via >= 0; last = arrivals[last.steps][m.list[last.via].from] {
		path = m.appendNode(path, last.via)
	}
	slices.Reverse(path)
	return total, path, cut
}

// boundByPaths sets the upper bounds to those of all paths through the graph.
func (w *walk) boundByPaths(m *moves, out *Bounds) {
	w.boundByLimit(out)
	limit := w.Source.Limits.MaxSteps
	steps, path, cut := m.findMostExpensive(inSteps, limit)
	if !cut && steps <= float64(limit) {
		out.Steps.Max, out.Steps.Limit, out.LLMCalls.Limit = steps, "", ""
	}
	if !cut && out.Steps.Limit == "" || len(path) == limit {
		out.Steps.MaxPath = path
	}
	for metric, r := range map[int]*Range{inTokens: &out.Tokens, inUSD: &out.CostUSD} { //lint:ignore mapiter each by itself
		total, _, _ := m.findMostExpensive(metric, limit)
		r.Max = min(r.Max, total)
	}
	calls, path, _ := m.findMostExpensive(inCalls, limit)
	if calls <= out.LLMCalls.Max {
		out.LLMCalls.Max, out.LLMCalls.MaxPath = calls, path
	}
}

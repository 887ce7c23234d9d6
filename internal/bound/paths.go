// The cheapest and the most expensive paths through states.

package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/graphrun/graphrun/internal/graphalg"
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
	ran      int // -1: the node refused the visit, which is not a step
}

// sortStates sorts the states so that moves lead forwards, except on cycles.
func (m *moves) sortStates() (order []int, acyclic bool) {
	acyclic = true
	var from, to []int
	for i := range m.list {
		from, to = append(from, m.list[i].from), append(to, m.list[i].to)
		acyclic = acyclic && m.list[i].from != m.list[i].to
	}
	of, count := graphalg.New(m.states, from, to).SCC()
	for s := range m.states {
		order = append(order, s)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of[b], of[a]) })
	return order, acyclic && count == m.states
}

// findCheapest returns the fewest steps or calls of a path that completes. Paths of equal
// cost compare by the other.
func (m *moves) findCheapest(metric int) (total float64, path []string, ok bool) {
	const unit = 1e6
	order, _ := m.sortStates()
	best, via := m.relax(order, func(s *span) float64 { return -unit*s.least[metric] - s.least[1-metric] })
	if math.IsInf(best[completed], -1) {
		return 0, nil, false
	}
	return math.Floor(-best[completed] / unit), m.path(via, completed), true
}

// findMostExpensive returns the most expensive path of a graph without cycles.
func (m *moves) findMostExpensive(metric int, order []int) (total float64, path []string) {
	best, via := m.relax(order, func(s *span) float64 { return s.most[metric] })
	last := begun
	for s := range best {
		if best[s] > best[last] {
			last = s
		}
	}
	return best[last], m.path(via, last)
}

// relax returns the greatest weight of a path to each state, and its last move.
func (m *moves) relax(order []int, weight func(s *span) float64) (best []float64, via []int) {
	leaving := make([][]int, m.states)
	for i := range m.list {
		leaving[m.list[i].from] = append(leaving[m.list[i].from], i)
	}
	best, via = slices.Repeat([]float64{math.Inf(-1)}, m.states), slices.Repeat([]int{-1}, m.states)
	best[begun] = 0
	for changed := true; changed; {
		changed = false
		for _, s := range order {
			for _, i := range leaving[s] {
				if sum, to := best[s]+weight(&m.list[i].span), m.list[i].to; sum > best[to] {
					best[to], via[to], changed = sum, i, true
				}
			}
		}
	}
	return best, via
}

// path returns the nodes that run until a state is reached.
func (m *moves) path(via []int, state int) []string {
	out := []string{}
	for ; via[state] >= 0; state = m.list[via[state]].from {
		if v := m.list[via[state]].ran; v >= 0 {
			out = append(out, m.name(v))
		}
	}
	slices.Reverse(out)
	return out
}

// maxLayered limits the moves of unroll.
const maxLayered = 500_000

// unroll tells states apart by the steps taken, up to a limit. It returns nil if there are
// too many.
func (m *moves) unroll(limit int) *moves {
	if limit <= 0 || len(m.list)*limit > maxLayered {
		return nil
	}
	out := &moves{states: m.states * (limit + 1), name: m.name}
	for k := range limit + 1 {
		for _, one := range m.list {
			steps := int(one.span.least[inSteps])
			if k == limit && steps > 0 {
				continue
			}
			if k+steps > limit {
				one.to = ended
			}
			steps = min(steps, limit-k)
			one.span.most[inSteps] = float64(steps)
			one.from, one.to = one.from+m.states*k, one.to+m.states*(k+steps)
			out.list = append(out.list, one)
		}
	}
	return out
}

// findMostExpensivePaths sets the upper bounds from all paths of the graph.
func (w *walk) findMostExpensivePaths(m *moves, out *Bounds) {
	limit := w.Source.Limits.MaxSteps
	order, acyclic := m.sortStates()
	if acyclic {
		out.Steps.Max, out.Steps.MaxPath = m.findMostExpensive(inSteps, order)
	}
	if acyclic && out.Steps.Max <= float64(limit) {
		out.Tokens.Max, _ = m.findMostExpensive(inTokens, order)
		out.CostUSD.Max, _ = m.findMostExpensive(inUSD, order)
		out.LLMCalls.Max, out.LLMCalls.MaxPath = m.findMostExpensive(inCalls, order)
		return
	}
	w.boundByLimit(out)
	if m = m.unroll(limit); m == nil {
		return
	}
	if order, acyclic = m.sortStates(); !acyclic { // refused visits are no steps
		return
	}
	if _, path := m.findMostExpensive(inSteps, order); len(path) == limit {
		out.Steps.MaxPath = path
	}
	out.LLMCalls.Max, out.LLMCalls.MaxPath = m.findMostExpensive(inCalls, order)
}

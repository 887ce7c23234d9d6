// The cheapest and the most expensive paths through states.

package lint

import (
	"cmp"
	"math"
	"slices"

	"github.com/graphrun/graphrun/internal/graphalg"
)

// The first states: a run that has completed, one that has ended otherwise, and the start.
const (
	completed = iota
	ended
	begun
)

// moves is a graph of states.
type moves struct {
	states int
	list   []boundMove
	name   func(v int) string
}

// boundMove is one step.
type boundMove struct {
	from, to int
	span     span
	ran      int // -1: the node refused the visit, and it is no step
}

// order sorts the states so that moves lead forwards, but for those of cycles.
func (m *moves) order() (order []int, acyclic bool) {
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

// cheapest returns the least of steps or calls with which a path completes; paths of
// equal cost compare by the other.
func (m *moves) cheapest(metric int) (total float64, path []string, ok bool) {
	const unit = 1e6
	order, _ := m.order()
	best, via := m.relax(order, func(s *span) float64 { return -unit*s.least[metric] - s.least[1-metric] })
	if math.IsInf(best[completed], -1) {
		return 0, nil, false
	}
	return math.Floor(-best[completed] / unit), m.path(via, completed), true
}

// dearest returns the most expensive path of a graph without cycles.
func (m *moves) dearest(metric int, order []int) (total float64, path []string) {
	best, via := m.relax(order, func(s *span) float64 { return s.most[metric] })
	last := begun
	for s := range best {
		if best[s] > best[last] {
			last = s
		}
	}
	return best[last], m.path(via, last)
}

// relax returns the greatest weight of a path to each state, and the moves there.
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

// maxLayered bounds the moves of limited.
const maxLayered = 500_000

// limited tells the states apart by the steps taken, up to a limit; nil if that is too much.
func (m *moves) limited(limit int) *moves {
	if limit <= 0 || len(m.list)*limit > maxLayered {
		return nil
	}
	out := &moves{states: m.states * (limit + 1), name: m.name}
	for k := range limit + 1 {
		for _, move := range m.list {
			steps := int(move.span.least[inSteps])
			if k == limit && steps > 0 {
				continue
			}
			if k+steps > limit {
				move.to = ended
			}
			steps = min(steps, limit-k)
			move.span.most[inSteps] = float64(steps)
			move.from, move.to = move.from+m.states*k, move.to+m.states*(k+steps)
			out.list = append(out.list, move)
		}
	}
	return out
}

// findMostExpensivePaths sets the bounds from the most expensive paths. All paths of the graph
// were followed.
func (w *boundWalk) findMostExpensivePaths(m *moves, out *Bounds) {
	limit := w.f.graph.Limits.MaxSteps
	order, acyclic := m.order()
	if acyclic {
		out.Steps.Max, out.Steps.MaxPath = m.dearest(inSteps, order)
	}
	if acyclic && out.Steps.Max <= float64(limit) {
		out.Tokens.Max, _ = m.dearest(inTokens, order)
		out.CostUSD.Max, _ = m.dearest(inUSD, order)
		out.LLMCalls.Max, out.LLMCalls.MaxPath = m.dearest(inCalls, order)
		return
	}
	w.byLimit(out)
	if m = m.limited(limit); m == nil {
		return
	}
	if order, acyclic = m.order(); !acyclic { // refused visits are no steps
		return
	}
	if _, path := m.dearest(inSteps, order); len(path) == limit {
		out.Steps.MaxPath = path
	}
	out.LLMCalls.Max, out.LLMCalls.MaxPath = m.dearest(inCalls, order)
}

// byLimit bounds a run by its limit of steps, each of which is the most expensive.
func (w *boundWalk) byLimit(out *Bounds) {
	out.Steps = Range{Min: out.Steps.Min, MinPath: out.Steps.MinPath, Max: math.Inf(1)}
	if limit := w.f.graph.Limits.MaxSteps; limit > 0 {
		out.Steps.Max, out.Steps.Limit = float64(limit), "max_steps"
	}
	var most cost
	for v := range w.costs {
		for metric, c := range w.dearestVisit(v) {
			most[metric] = max(most[metric], c)
		}
	}
	most = most.times(out.Steps.Max)
	out.LLMCalls.Max, out.Tokens.Max, out.CostUSD.Max = most[inCalls], most[inTokens], most[inUSD]
	if most[inCalls] > 0 {
		out.LLMCalls.Limit = "max_steps"
	}
}

// dearestVisit is the most that a visit of a node takes, with the choice of what follows.
func (w *boundWalk) dearestVisit(v int) cost {
	if w.flow.Decides(v) {
		return w.costs[v].most.plus(w.decideCost(2).most)
	}
	return w.costs[v].most
}

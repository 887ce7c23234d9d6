// The cheapest and the dearest runs among all that were followed.

package lint

import (
	"container/heap"
	"math"
	"slices"
)

// least finds the cheapest runs that complete, by Dijkstra's algorithm; false
// when no run does.
func (w *boundWalk) least(out *Bounds) bool {
	for metric, r := range []*Range{&out.Steps, &out.LLMCalls} {
		total, path, ok := w.cheapest(metric)
		if !ok {
			return false
		}
		r.Min = total
		if !w.wide {
			r.MinPath = path
		}
	}
	return true
}

// leaving lists the moves from each state.
func (w *boundWalk) leaving() [][]int {
	out := make([][]int, w.states)
	for i := range w.moves {
		out[w.moves[i].from] = append(out[w.moves[i].from], i)
	}
	return out
}

type frontier []struct {
	state int
	cost  cost
}

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return slices.Compare(f[i].cost[:], f[j].cost[:]) < 0 }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(frontierItem)) }
func (f *frontier) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

type frontierItem = struct {
	state int
	cost  cost
}

// cheapest is the least total of one metric; runs of equal total compare by
// the other.
func (w *boundWalk) cheapest(metric int) (total float64, path []string, ok bool) {
	order := func(c cost) cost { return cost{c[metric], c[1-metric]} }
	leaving := w.leaving()
	best := make([]cost, w.states)
	via := make([]int, w.states)
	for i := range best {
		best[i], via[i] = without, -1
	}
	best[w.start] = cost{}
	todo := &frontier{{w.start, cost{}}}
	for todo.Len() > 0 {
		at := heap.Pop(todo).(frontierItem)
		if at.cost != best[at.state] {
			continue
		}
		if at.state == w.done {
			return at.cost[0], w.names(w.movesTo(via, at.state)), true
		}
		for _, m := range leaving[at.state] {
			move := &w.moves[m]
			if move.to < 0 {
				continue
			}
			next := at.cost.plus(order(move.span.least))
			if slices.Compare(next[:], best[move.to][:]) < 0 {
				best[move.to], via[move.to] = next, m
				heap.Push(todo, frontierItem{move.to, next})
			}
		}
	}
	return 0, nil, false
}

func (w *boundWalk) movesTo(via []int, state int) []int {
	var moves []int
	for via[state] >= 0 {
		moves = append(moves, via[state])
		state = w.moves[via[state]].from
	}
	slices.Reverse(moves)
	return moves
}

// names are the nodes that run in some moves.
func (w *boundWalk) names(moves []int) []string {
	out := []string{}
	for _, m := range moves {
		if v := w.moves[m].ran; v >= 0 {
			out = append(out, w.f.Name(v))
		}
	}
	return out
}

// most finds the dearest runs.
func (w *boundWalk) most(out *Bounds) {
	limit := w.f.graph.Limits.MaxSteps
	order, acyclic := w.sorted()
	switch {
	case w.wide:
		out.Steps.Max, out.Steps.Limit = float64(limit), "max_steps"
		w.stepwise(out, float64(limit))
		return
	case acyclic:
		steps, path := w.dearest(inSteps, order)
		if steps <= float64(limit) {
			out.Steps.Max, out.Steps.MaxPath = steps, path
			out.LLMCalls.Max, out.LLMCalls.MaxPath = w.dearest(inCalls, order)
			out.Tokens.Max, _ = w.dearest(inTokens, order)
			out.CostUSD.Max, _ = w.dearest(inUSD, order)
			return
		}
	}
	w.layered(out, limit)
}

// stepwise bounds a run of some steps by the dearest of them.
func (w *boundWalk) stepwise(out *Bounds, steps float64) {
	most := w.dearestStep().times(steps)
	out.LLMCalls.Max, out.Tokens.Max, out.CostUSD.Max = most[inCalls], most[inTokens], most[inUSD]
	if most[inCalls] > 0 {
		out.LLMCalls.Limit = "max_steps"
	}
}

// dearestStep is the most that one step can take.
func (w *boundWalk) dearestStep() cost {
	var most cost
	for v := range w.costs {
		for metric, c := range w.dearestVisit(v) {
			most[metric] = max(most[metric], c)
		}
	}
	return most
}

// dearestVisit is the most that a visit of a node takes, with the choice of what follows.
func (w *boundWalk) dearestVisit(v int) cost {
	if w.flow.Decides(v) {
		return w.costs[v].most.plus(w.decideCost(2).most)
	}
	return w.costs[v].most
}

// sorted orders the states so that all moves lead forwards, if they can be.
func (w *boundWalk) sorted() (order []int, acyclic bool) {
	into := make([]int, w.states)
	for i := range w.moves {
		if to := w.moves[i].to; to >= 0 {
			into[to]++
		}
	}
	leaving := w.leaving()
	for s, n := range into {
		if n == 0 {
			order = append(order, s)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, m := range leaving[order[i]] {
			to := w.moves[m].to
			if to < 0 {
				continue
			}
			if into[to]--; into[to] == 0 {
				order = append(order, to)
			}
		}
	}
	return order, len(order) == w.states
}

// dearest is the longest way from the start through states in order.
func (w *boundWalk) dearest(metric int, order []int) (float64, []string) {
	leaving := w.leaving()
	best, via := make([]float64, w.states), make([]int, w.states)
	for i := range best {
		best[i], via[i] = math.Inf(-1), -1
	}
	best[w.start] = 0
	top, last := 0.0, -1
	for _, s := range order {
		if math.IsInf(best[s], -1) {
			continue
		}
		for _, m := range leaving[s] {
			move := &w.moves[m]
			total := best[s] + move.span.most[metric]
			if total > top || last < 0 {
				top, last = total, m
			}
			if move.to >= 0 && total > best[move.to] {
				best[move.to], via[move.to] = total, m
			}
		}
	}
	if last < 0 {
		return top, nil
	}
	return top, w.names(append(w.movesTo(via, w.moves[last].from), last))
}

// maxLayers bounds the table of layered.
const maxLayers = 4_000_000

// layered finds the dearest runs of at most limit steps when the graph alone
// does not bound them.
func (w *boundWalk) layered(out *Bounds, limit int) {
	out.Steps.Max, out.Steps.Limit = float64(limit), "max_steps"
	if limit <= 0 {
		out.Steps.Max, out.Steps.Limit = math.Inf(1), ""
	}
	if w.stepwise(out, out.Steps.Max); limit <= 0 || w.states*(limit+1) > maxLayers {
		return
	}
	t := &layers{w: w, limit: limit, leaving: w.leaving(), best: make([]float64, w.states*(limit+1)), via: make([]int32, w.states*(limit+1))}
	t.fill()
	if len(t.longest) == limit {
		out.Steps.MaxPath = t.longest
	}
	out.LLMCalls.Max, out.LLMCalls.MaxPath = t.calls, t.dearest
}

// layers holds, for each number of steps and each state, the most calls made.
type layers struct {
	w       *boundWalk
	limit   int
	leaving [][]int
	best    []float64
	via     []int32 // the move that led there; -1 none

	calls            float64
	dearest, longest []string
}

func (t *layers) fill() {
	for i := range t.best {
		t.best[i], t.via[i] = math.Inf(-1), -1
	}
	t.best[t.w.start] = 0
	lastStep, lastMove, dearStep, dearMove := -1, -1, -1, -1
	t.calls = 0
	for k := 0; k <= t.limit; k++ {
		todo := []int{}
		for s := range t.w.states {
			if !math.IsInf(t.best[k*t.w.states+s], -1) {
				todo = append(todo, s)
			}
		}
		for i := 0; i < len(todo); i++ {
			for _, m := range t.leaving[todo[i]] {
				move := &t.w.moves[m]
				calls := t.best[k*t.w.states+todo[i]] + move.span.most[inCalls]
				next := k + int(move.span.least[inSteps])
				if calls > t.calls && (next <= t.limit || k < t.limit) {
					t.calls, dearStep, dearMove = calls, k, m
				}
				if next > t.limit {
					continue
				}
				if next > lastStep {
					lastStep, lastMove = next, m
				}
				if at := next*t.w.states + move.to; move.to >= 0 && calls > t.best[at] {
					fresh := math.IsInf(t.best[at], -1)
					t.best[at], t.via[at] = calls, int32(m)
					if next == k && fresh {
						todo = append(todo, move.to)
					}
				}
			}
		}
	}
	if lastMove >= 0 {
		t.longest = t.path(lastStep-int(t.w.moves[lastMove].span.least[inSteps]), lastMove)
	}
	if dearMove >= 0 {
		t.dearest = t.path(dearStep, dearMove)
	}
}

// path leads to the state before a move, at a number of steps, and takes it.
func (t *layers) path(k, m int) []string {
	moves := []int{m}
	s := t.w.moves[m].from
	for range t.limit + t.w.states {
		via := t.via[k*t.w.states+s]
		if via < 0 {
			break
		}
		moves = append(moves, int(via))
		k -= int(t.w.moves[via].span.least[inSteps])
		s = t.w.moves[via].from
	}
	slices.Reverse(moves)
	return t.w.names(moves)
}

// One superstep of a run that bounds follow: which tasks finish in it, and what they come
// to together.

package lint

import "slices"

// task is one execution in a superstep that finishes there.
type task struct {
	node int
	// begins: it started in this superstep, and did not wait since an earlier one.
	begins bool
	// refused: a limit does not let it run.
	refused bool
}

// expand adds the moves of a state: every choice of which tasks wait.
func (w *boundWalk) expand(at int) bool {
	s := w.queue[at]
	tasks := make([]task, 0, len(s.active)+len(s.parked))
	for _, v := range s.active {
		tasks = append(tasks, task{node: v, begins: true, refused: w.refuses(&s, v)})
	}
	for _, v := range s.parked {
		tasks = append(tasks, task{node: v})
	}
	var canWait []int
	for i, t := range tasks {
		if len(tasks) > 1 && !t.refused && w.parks(t.node) {
			canWait = append(canWait, i)
		}
	}
	if len(canWait) > maxHeld {
		return false
	}
	for held := range 1 << len(canWait) {
		var finish []task
		var parked []int
		for i, t := range tasks {
			if k := slices.Index(canWait, i); k >= 0 && held>>k&1 == 1 {
				parked = append(parked, t.node)
			} else {
				finish = append(finish, t)
			}
		}
		slices.Sort(parked)
		if len(finish) > 0 && !w.superstep(at, tasks, finish, parked) {
			return false
		}
	}
	return true
}

// refuses reports whether a node's limit does not let it run once more.
func (w *boundWalk) refuses(s *boundState, v int) bool {
	c, counted := w.counterOf[v]
	return counted && w.limit[v] > 0 && s.visits[c] >= w.limit[v]
}

func (w *boundWalk) skips(v int) bool { return w.f.graph.Nodes[v].OnMaxVisits == "skip" }

// parks reports whether a task may outlast the superstep that it starts in.
func (w *boundWalk) parks(v int) bool {
	switch w.f.graph.Nodes[v].Kind.Value {
	case "set", "pass", "fail":
		return w.f.graph.Nodes[v].Retry != nil || w.f.graph.Retry != nil
	}
	return true
}

// superstep adds a move for each combination of what the tasks come to that
// finish in it. A task counts as a visit when it begins; as a step it counts then
// for the most, for the least when it ends.
func (w *boundWalk) superstep(at int, all, finish []task, parked []int) bool {
	s := w.queue[at]
	next := boundState{visits: slices.Clone(s.visits), step: s.step, parked: parked, waiting: s.waiting, bypassed: s.bypassed, lost: s.lost, values: s.values}
	var total span
	var ran []int
	for _, t := range all {
		if !t.begins || t.refused && !w.skips(t.node) {
			continue
		}
		total.most[inSteps]++
		next.step++
		ran = append(ran, t.node)
		if c, counted := w.counterOf[t.node]; counted && !t.refused {
			next.visits[c] = min(next.visits[c]+1, w.counters[c].most)
		}
	}
	next.step = min(next.step, w.stepCap)
	bundles := 1
	ways := make([][]way, len(finish))
	var ended []int
	for i, t := range finish {
		if !t.refused || w.skips(t.node) {
			total.least[inSteps]++
			ended = append(ended, t.node)
		}
		if t.refused {
			ways[i] = w.refusedWays(t.node)
		} else {
			ways[i] = w.waysOf(all, finish, i, next, len(ran) == 1 && t.begins && !w.unsteps)
		}
		if bundles *= len(ways[i]); bundles > maxBundles {
			return false
		}
	}
	before := len(w.moves)
	for n := range bundles {
		w.bundle(boundMove{from: at, span: total, ran: ran, ended: ended}, all, finish, ways, n, next)
	}
	if len(w.moves) == before { // whatever happens ends the run
		w.moves = append(w.moves, boundMove{from: at, to: -1, span: total, ran: ran, ended: ended})
	}
	return true
}

// bundle adds the move of one combination.
func (w *boundWalk) bundle(move boundMove, all, finish []task, ways [][]way, n int, next boundState) {
	chosen := make([]*way, len(finish))
	for i := range finish {
		chosen[i] = &ways[i][n%len(ways[i])]
		n /= len(ways[i])
	}
	var possible bool
	if next.values, possible = w.outcome(all, finish, chosen, next.values); !possible {
		return
	}
	var arrived []int
	stops, dropped := false, 0.0
	for i, t := range finish {
		choice := chosen[i]
		if choice.failed && !t.refused {
			dropped++
		}
		if !t.refused {
			rest := w.costs[t.node]
			rest.least[inSteps]--
			rest.most[inSteps]--
			if choice.failed {
				rest.least = cost{}
			}
			move.span = move.span.plus(rest)
		}
		move.span = move.span.plus(choice.extra)
		arrived = append(arrived, choice.targets...)
		if choice.failed && len(choice.targets) > 0 {
			w.detours(&next, t.node, choice.targets)
		}
		stops = stops || choice.stops
	}
	if stops {
		move.to = -1
		w.moves = append(w.moves, move)
		return
	}
	if w.cancels && dropped > 0 { // nobody knows what else ends with the branch
		nothing := move
		nothing.to, nothing.span.least = w.done, cost{inSteps: dropped}
		w.moves = append(w.moves, nothing)
	}
	for _, after := range w.arrive(next, arrived) {
		move.to = w.number(after)
		w.moves = append(w.moves, move)
	}
}

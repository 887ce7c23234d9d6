// Fan-outs: the branches that live at once, and what a failing one does to the
// others (GraphSpec §7).

package machine

import "cmp"

// place says which branch a token is on: a lane of a fan-out. The zero place is
// the run itself.
type place struct {
	fan  *fanout
	lane int
}

// fanout is one time that several edges fired at once. Each edge started a
// branch; a token is the point where a branch stands.
type fanout struct {
	id     int // from 1, in order
	origin int // node
	at     place
	depth  int // of nesting, from 1
	policy string
	// live counts the tokens of all branches, those of nested fan-outs too.
	live int
	// ended says that a branch got through, to END or to where it met others; dead
	// that the fan-out has failed and its tokens count no more.
	ended bool
	dead  bool
	// failures are those of branches that the policy tolerated.
	failures []*Failure
	// lowest is the one of the first declared branch that failed: what the
	// fan-out has failed with when all have, whichever was the last.
	lowest     *Failure
	lowestLane int
	// auto is the node of the implicit join, or noNode.
	auto int
	// first holds the node that each branch began with.
	first []int
	// names holds what the branches are called, once somebody has asked.
	names []string
	// thread is where the conversation stood.
	thread *thread
	// again holds, by lane, when the timer of a branch was last started again.
	again map[int]int64
}

// noNode stands for the absence of a node.
const noNode = -2

// newFanout starts a branch for each of count edges out of a task.
func (p *Plan) newFanout(s *State, t *task, routes []route) *fanout {
	s.fanouts++
	f := &fanout{
		id: s.fanouts, origin: t.node, at: t.at, depth: 1, live: len(routes), thread: t.thread,
		policy: p.policyOf(t.node), auto: noNode, first: make([]int, len(routes)),
	}
	for i := range routes {
		f.first[i] = routes[i].to
	}
	if t.at.fan != nil {
		f.depth = t.at.fan.depth + 1
	}
	t.at.add(len(routes) - 1)
	if p.Graph.Parallel.Join == "auto" {
		f.auto = p.meeting(f, false)
	}
	if d := p.branchTimeout(t.node); d > 0 {
		s.laned = append(s.laned, f)
		for lane := range routes {
			s.command(Command{Kind: StartTimer, Timer: BranchTimer, Task: p.laneID(place{f, lane}), For: d})
		}
	}
	return f
}

// branchName is what a branch is called: the node it began with, after the name
// of the branch around it.
func (p *Plan) branchName(at place) string {
	f := at.fan
	if f.names == nil {
		f.names = make([]string, len(f.first))
	}
	if f.names[at.lane] == "" {
		name := p.targetName(f.first[at.lane])
		if f.at.fan != nil {
			name = p.branchName(f.at) + "/" + name
		}
		f.names[at.lane] = name
	}
	return f.names[at.lane]
}

// policyOf is what a failing branch of a node's fan-out does.
func (p *Plan) policyOf(node int) string {
	if own := p.Graph.Nodes[node].Parallel; own != nil && own.OnFailure != "" {
		return own.OnFailure
	}
	return p.Graph.Parallel.OnFailure
}

// add counts tokens on a branch and on every branch around it.
func (at place) add(n int) {
	for f := at.fan; f != nil; f = f.at.fan {
		f.live += n
	}
}

// dead reports whether the branch, or one around it, has failed.
func (at place) dead() bool {
	for f := at.fan; f != nil; f = f.at.fan {
		if f.dead {
			return true
		}
	}
	return false
}

// within reports whether the place is in the fan-out or nested in it.
func (at place) within(f *fanout) bool {
	for at.fan != nil {
		if at.fan == f {
			return true
		}
		at = at.fan.at
	}
	return false
}

// on reports whether the place is on the branch or nested in it.
func (at place) on(branch place) bool {
	for at.fan != nil {
		if at == branch {
			return true
		}
		at = at.fan.at
	}
	return false
}

// common is the innermost branch around both places; of two lanes of one
// fan-out it is the first.
func common(a, b place) place {
	for a.fan != b.fan {
		if b.fan == nil || a.fan != nil && a.fan.depth >= b.fan.depth {
			a = a.fan.at
		} else {
			b = b.fan.at
		}
	}
	if a.fan != nil && b.lane < a.lane {
		a.lane = b.lane
	}
	return a
}

// compare orders places by declaration: the branches of one fan-out by lane. Of
// two places on one branch the one that is less nested comes first, then that of
// the older fan-out, so that the order is the same whatever came first.
func (at place) compare(other place) int {
	a, b := at, other
	var inA, inB *fanout // the fan-outs on the branch that a and b are in
	for a.fan != b.fan {
		if b.fan == nil || a.fan != nil && a.fan.depth >= b.fan.depth {
			a, inA = a.fan.at, a.fan
		} else {
			b, inB = b.fan.at, b.fan
		}
	}
	return cmp.Or(a.lane-b.lane, inA.number()-inB.number())
}

// mergePlaces takes the token at b into the one at a, which then stands where both
// are: on the branch that they have in common.
func mergePlaces(a, b place) place {
	b.add(-1)
	to := common(a, b)
	for f := a.fan; f != to.fan; f = f.at.fan {
		f.live--
		f.ended = true
	}
	for f := b.fan; f != to.fan; f = f.at.fan {
		f.ended = true
	}
	return to
}

// leave takes a token out of the fan-outs in which no other token is left.
func (at place) leave() place {
	for at.fan != nil && at.fan.live == 1 {
		at.fan.live = 0
		at = at.fan.at
	}
	return at
}

// end ends a branch at END.
func (at place) end() {
	for f := at.fan; f != nil; f = f.at.fan {
		f.ended = true
	}
	at.add(-1)
}

// branchFailed applies the failure policy to a branch that has failed. hasToken
// says that its token is still counted. It returns how the run ends, if it does.
func (p *Plan) branchFailed(s *State, at place, failure *Failure, hasToken bool) *ending {
	for {
		f := at.fan
		switch {
		case f == nil:
			return propagate(failure)
		case at.dead():
			return nil
		case f.policy == "continue_others" || f.policy == "wait_all":
			if hasToken {
				at.add(-1)
			}
			s.degraded = true
			f.failures = append(f.failures, failure)
			if f.lowest == nil || at.lane < f.lowestLane {
				f.lowest, f.lowestLane = failure, at.lane
			}
			if f.live > 0 || f.ended {
				return nil
			}
			failure = f.lowest
			f.dead = true
			if f.policy == "wait_all" {
				if node := p.meeting(f, true); node != noNode {
					f.at.add(1)
					p.startJoin(s, node, f.at, nil, f.failures)
					s.next[len(s.next)-1].thread = f.thread
					return nil
				}
			}
		default:
			s.kill(f)
		}
		at, hasToken = f.at, false
	}
}

// kill ends every token of a fan-out. Running tasks are cancelled; they are
// dropped when they have ended.
func (s *State) kill(f *fanout) {
	s.removeTokens(func(_ int, at place) bool { return at.within(f) })
	for i := range s.tasks {
		if t := &s.tasks[i]; t.at.within(f) {
			s.cancel(t, "a parallel branch failed")
		}
	}
	f.at.add(-f.live)
	f.live, f.dead = 0, true
}

// removeTokens takes out the tokens that do not run: those due next, parked, or
// waiting at a join.
func (s *State) removeTokens(match func(node int, at place) bool) {
	s.next = deleteTasks(s.next, func(t *task) bool {
		if !s.removed(t.node, t.at, match) {
			return false
		}
		s.unstep(t) // it may be back from being parked
		return true
	})
	s.parked = deleteTasks(s.parked, func(t *task) bool {
		if !s.removed(t.node, t.at, match) {
			return false
		}
		timer := RetryTimer
		switch t.status {
		case waiting:
			timer = WaitTimer
		case asking:
			timer = AnswerTimer
		}
		s.command(Command{Kind: StopTimer, Timer: timer, Task: s.taskID(t)})
		s.unstep(t)
		return true
	})
	for i := range s.barriers {
		b := &s.barriers[i]
		kept := b.arrivals[:0]
		for _, a := range b.arrivals {
			if !s.removed(b.node, a.at, match) {
				kept = append(kept, a)
			}
		}
		b.arrivals = kept
	}
}

func (s *State) removed(node int, at place, match func(node int, at place) bool) bool {
	if !match(node, at) {
		return false
	}
	if !at.dead() {
		at.add(-1)
	}
	return true
}

// deleteTasks removes tasks in place, keeping their order.
func deleteTasks(list []task, remove func(*task) bool) []task {
	kept := 0
	for i := range list {
		if remove(&list[i]) {
			continue
		}
		if kept != i {
			list[kept] = list[i]
		}
		kept++
	}
	clear(list[kept:])
	return list[:kept]
}

// cancel stops a task of the open superstep that is not wanted any more.
func (s *State) cancel(t *task, why string) {
	if t.each != nil && (t.status == ready || t.status == running) {
		if t.cause == nil {
			t.cause = &Failure{Kind: "cancelled", Message: why}
			s.cancelElements(t, why)
			s.plan.eachSettle(s, t)
		}
		return
	}
	switch t.status {
	case ready:
		t.status = dropped
		s.readyTasks--
		s.unstep(t)
	case running:
		if t.cause == nil {
			t.cause = &Failure{Kind: "cancelled", Message: why}
			s.command(Command{Kind: CancelTask, Task: s.taskID(t)})
		}
	}
}

// cancelSiblings stops the other branches at once after a failure that nothing
// can catch, as far out as fail_all goes.
func (s *State) cancelSiblings(failed *task) {
	var out *fanout
	for f := failed.at.fan; f != nil && f.policy == "fail_all"; f = f.at.fan {
		out = f
	}
	if out == nil {
		return
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.at.within(out) {
			s.cancel(t, "a parallel branch failed")
		}
	}
}

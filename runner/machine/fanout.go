// Fan-outs: the branches that live at once, and where they stand (GraphSpec §7).

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
	failures []lostBranch
	// auto is the node of the implicit join, or noNode.
	auto int
	// first holds the node that each branch began with.
	first []int
	// names holds what the branches are called, once somebody has asked.
	names []string
	// thread is where the conversation stood.
	thread *thread
	// began is when the time of the branches began, again, by lane, when that of a
	// branch began once more; both are later by what did not count.
	began int64
	again map[int]int64
}

// lostBranch is a branch that failed. order is when, among all that finished, and
// told says that a join has heard of it.
type lostBranch struct {
	failure *Failure
	lane    int
	order   int
	told    bool
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
	if p.joinsOf(t.node) == "auto" {
		f.auto = p.meeting(f, false)
	}
	if d := p.branchTimeout(t.node); d > 0 {
		f.began = s.now
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

// laneOf is the branch of a fan-out that a place within it is on.
func laneOf(at place, f *fanout) int {
	for at.fan != f {
		at = at.fan.at
	}
	return at.lane
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

// leave takes a token out of the fan-outs that end at the node it comes to: no
// other token is left in them, several branches could have come there, and no join
// still has to hear whether a branch that bypasses it comes back.
func (p *Plan) leave(s *State, at place, node int) place {
	for f := at.fan; f != nil && f.live == 1 && p.endsAt(s, f, node) && !s.bypassing(f); f = at.fan {
		f.live = 0
		at = f.at
	}
	return at
}

// endsAt reports whether a node is one where branches of the fan-out meet.
func (p *Plan) endsAt(s *State, f *fanout, node int) bool {
	ways := 0
	for lane := range f.first {
		if p.leadsTo(s, f, lane, node) {
			if ways++; ways == 2 {
				return true
			}
		}
	}
	return false
}

// leadsTo reports whether a branch, as it began, could have come to a node without
// going back to where the fan-out began.
func (p *Plan) leadsTo(s *State, f *fanout, lane, node int) bool {
	first := f.first[lane]
	return first == node || first != endNode && p.reaching(s, node, f.origin).has(first)
}

// end ends a branch at END.
func (at place) end() {
	for f := at.fan; f != nil; f = f.at.fan {
		f.ended = true
	}
	at.add(-1)
}

// removeTokens takes out the tokens that do not run: those due next, parked, or
// waiting at a join; why is told of those whose execution has begun.
func (s *State) removeTokens(why string, match func(node int, at place) bool) {
	s.next = deleteTasks(s.next, func(t *task) bool {
		if !s.removed(t.node, t.at, match) {
			return false
		}
		s.unstepBecause(t, why) // it may be back from being parked
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
		s.unstepBecause(t, why)
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

// Fan-outs: the branches that live at once, and where they stand (GraphSpec §7).

package machine

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

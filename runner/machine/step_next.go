// From a closed superstep to the next: failed branches, fired edges, joins.

package machine

import (
	"cmp"
	"slices"
)

// moveOn starts the next superstep: what failed, then the targets of the edges
// that fired, then the joins that are satisfied.
func (p *Plan) moveOn(s *State) {
	p.noteClosed(s)
	if how := p.settleFailures(s); how != nil {
		p.finish(s, *how)
		return
	}
	if p.requires {
		p.countSucceeded(s)
	}
	if len(p.endGuards) > 0 {
		if how := p.endViolation(s); how != nil {
			p.finish(s, *how)
			return
		}
	}
	p.dispatch(s)
	if len(s.logs) > 0 {
		s.forgetLogs()
	}
	if s.outOfSteps { // a subgraph that was cut short is one to go on with
		s.tasks = deleteTasks(s.tasks, func(t *task) bool { return t.status != dropped })
	} else {
		s.tasks = s.tasks[:0]
	}
	if len(s.breakAfter) > 0 {
		p.stopAfter(s)
	}
	if s.outOfSteps {
		p.outOfSteps(s)
		return
	}
	p.proceed(s)
}

// proceed starts what can start when no superstep is open.
func (p *Plan) proceed(s *State) {
	if len(s.barriers) > 0 {
		if how := p.fireJoins(s); how != nil {
			p.finish(s, *how)
			return
		}
	}
	if s.pauseDue {
		s.standAt()
		p.pause(s, "pause")
		return
	}
	p.openSuperstep(s)
}

// settleFailures applies the failure policies to the branches that failed in
// this superstep, the first to fail first.
func (p *Plan) settleFailures(s *State) *ending {
	if len(s.tasks) == 1 && s.tasks[0].uncaught {
		return p.branchFailed(s, s.tasks[0].at, s.tasks[0].failure, s.tasks[0].order, true)
	}
	var lost []*task
	for i := range s.tasks {
		if t := &s.tasks[i]; t.uncaught || t.expired != nil {
			lost = append(lost, t)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.SortStableFunc(lost, func(a, b *task) int { return cmp.Compare(a.order, b.order) })
	var overs []*expiry
	for _, t := range lost {
		switch over := t.expired; {
		case over == nil:
			if how := p.branchFailed(s, t.at, t.failure, t.order, true); how != nil {
				return how
			}
		case !over.settled:
			over.settled = true
			overs = append(overs, over)
		}
	}
	slices.SortFunc(overs, func(a, b *expiry) int { return a.order - b.order })
	for _, over := range overs {
		for _, t := range lost { // not before: the last token to go ends the fan-out
			if t.expired == over && !t.at.dead() {
				t.at.add(-1)
			}
		}
		if how := p.branchFailed(s, over.branch, over.failure, over.order, false); how != nil {
			return how
		}
	}
	return nil
}

// dispatch moves the token of each task along the edges that fired; several of
// them are a fan-out.
func (p *Plan) dispatch(s *State) {
	if len(s.routes) > 1 {
		if s.due == nil {
			s.due = make(map[int]int, len(s.routes))
		}
		clear(s.due)
	}
	first := len(s.next)
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.uncaught || t.expired != nil || t.at.dead() {
			continue
		}
		routes := s.routes[t.firstRoute:t.lastRoute]
		if t.status == failed && t.at.fan != nil && len(routes) > 0 {
			p.takeDetour(s, t.node, t.at, t.node, nil)
		}
		switch {
		case len(routes) == 1:
			p.send(s, t, &routes[0], t.at)
		case len(routes) > 1:
			fan := p.newFanout(s, t, routes)
			s.next = slices.Grow(s.next, len(routes))
			for lane := range routes {
				p.send(s, t, &routes[lane], place{fan, lane})
			}
		default: // dropped
			t.at.add(-1)
		}
	}
	for i := first; i < len(s.next); i++ {
		if t := &s.next[i]; t.merged {
			from := t.at
			t.at = p.leave(s, from, t.node)
			s.moved(from, t.at)
		}
	}
}

// send moves a token to the target of a route.
func (p *Plan) send(s *State, from *task, r *route, at place) {
	if r.to == endNode {
		s.lastEnd = from.output
		if p.talks {
			s.arriveAtEnd(from.thread)
		}
		at.end()
		return
	}
	if isJoin, fan := p.joinOf(r.to, at); isJoin {
		s.arrive(r.to, fan, arrival{at: at, source: from.node, input: r.input, output: from.output, thread: from.thread})
		return
	}
	if len(s.routes) > 1 && !r.own {
		if i, isDue := s.due[r.to]; isDue {
			t := &s.next[i]
			if len(t.inputs) == 0 {
				t.inputs = append(t.inputs, sourceInput{t.source, t.input})
			}
			t.inputs = append(t.inputs, sourceInput{from.node, r.input})
			if t.led == nil {
				t.led = from.failure
			}
			if p.talks {
				t.thread = s.mergeThreads([]*thread{t.thread, from.thread}, common(t.at, at).fan)
			}
			was := t.at
			t.at, t.merged = mergePlaces(was, at), true
			s.moved(was, t.at)
			s.moved(at, t.at)
			s.mixed = true
			return
		}
		s.due[r.to] = len(s.next)
	}
	t := s.addNext()
	t.node, t.input, t.at, t.source, t.thread, t.led = r.to, r.input, at, from.node, from.thread, from.failure
	if p.wanted&useInputs != 0 {
		t.inputs = []sourceInput{{from.node, r.input}}
	}
}

// addNext adds an empty task to the next superstep; it takes over the buffer
// of writes that an earlier task left in its place.
func (s *State) addNext() *task {
	n := len(s.next)
	if n == cap(s.next) {
		s.next = append(s.next, task{})
		return &s.next[n]
	}
	s.next = s.next[:n+1]
	t := &s.next[n]
	writes := t.writes[:0]
	*t = task{}
	t.writes = writes
	return t
}

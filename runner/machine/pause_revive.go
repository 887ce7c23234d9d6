// Executions that a run was lost with, brought back when it is taken up again.

package machine

import (
	"slices"
)

// countedTo are questions that say so many steps of a subgraph are counted.
func (q *questions) countedTo(child *ChildEnd) *questions {
	if child == nil {
		return q
	}
	out := questions{any: true}
	if q != nil {
		out = *q
	}
	out.steps = max(child.Steps, out.steps)
	return &out
}

// forgetLogs lets go of what the executions of the closing superstep noted that did
// not end well.
func (s *State) forgetLogs() {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != failed && t.status != dropped {
			continue
		}
		node := s.plan.nodes[t.node].id
		for id := range s.logs { //lint:ignore mapiter each is looked at by itself
			if id.Node == node && id.Visit == t.visit {
				delete(s.logs, id)
			}
		}
	}
}

// revive brings an execution of the open superstep back that the run was lost with.
// One that was cut off goes on with the attempt that it was at; one that failed has
// all of its attempts again, but a subgraph, which goes on where it was.
func (p *Plan) revive(s *State, t *task) {
	if t.step == 0 { // its step was taken back, its visit was not
		s.Steps++
		t.step = s.freeStep()
	}
	failedBefore := t.status == failed
	t.cause, t.failure, t.expired, t.lost, t.order, t.output = nil, nil, nil, false, 0, nil
	s.noteAgain(t)
	n := &p.nodes[t.node]
	anew := failedBefore && n.kind != "graph"
	switch {
	case t.each != nil:
		p.reviveElements(s, t, failedBefore)
	case n.act == actRun:
		if anew {
			delete(s.logs, s.taskID(t))
			t.newTurns()
			t.attempt, t.tried = 1, nil
		}
		if t.asked != nil && t.asked.any && anew {
			t.asked = nil
		}
		s.makeReady(t)
	case n.act == actHuman && t.asked != nil:
		t.asked.askAnew(s.now + int64(n.timeout))
		t.status, t.due = asking, false
		s.waitingTasks++
	default:
		p.execute(s, t, n)
	}
	s.nextReady = 0
}

// askAnew forgets that nobody answered; people have their time again.
func (q *questions) askAnew(until int64) {
	for i := range q.questions {
		if q := &q.questions[i]; q.failure != nil {
			q.failure, q.settled = nil, false
			if q.Until > 0 {
				q.Until = until
			}
		}
	}
}

// reviveElements brings back what the cancellation or the failure of a node with an
// `each` took from it. Of a node that failed, the elements that did run again.
func (p *Plan) reviveElements(s *State, t *task, failedBefore bool) {
	e, n := t.each, &p.nodes[t.node]
	cut := e.cut
	e.cut = nil
	if cut == nil {
		cut = &eachCut{next: -1}
	}
	if cut.next >= 0 {
		e.next, e.again, e.attempts, e.asking = cut.next, cut.again, cut.attempts, cut.asking
	}
	for _, i := range sortedElements(cut.running) {
		e.runOnce(i, cut.running[i].attempt, cut.running[i].asked)
	}
	if failedBefore || e.failure != nil {
		e.failure, e.lowest, e.failed = nil, nil, e.failed-len(cut.failed)
		for _, i := range sortedElements(cut.failed) {
			run := cut.failed[i]
			switch {
			case n.act == actHuman:
				p.askElement(s, t, i)
				continue
			case n.kind != "graph":
				delete(s.logs, s.elementID(t, i, run.attempt))
				run.attempt, run.asked = 1, nil
				t.forgetTries(i)
				t.forgetTried(i, len(n.retry))
			}
			e.runOnce(i, run.attempt, run.asked)
		}
	} else {
		e.cut = &eachCut{next: -1, running: map[int]*elementRun{}, failed: cut.failed}
	}
	switch {
	case n.act == actSet || n.act == actPass:
		p.execute(s, t, n)
	case len(e.again) > 0 || e.next < len(e.items):
		s.makeReady(t)
	default:
		t.status = running
		p.eachSettle(s, t)
	}
}

// runOnce lets an element run as that attempt, as soon as there is room.
func (e *eachState) runOnce(i, attempt int, asked *questions) {
	e.attempts[i] = failedAttempt{attempt: attempt - 1}
	if asked != nil {
		e.answered[i] = asked
	}
	if !slices.Contains(e.again, i) {
		e.again = append(e.again, i)
	}
}

// freeStep is a step that no execution under way is.
func (s *State) freeStep() int {
	for step := s.Steps; step > 0; step-- {
		taken := func(t task) bool { return t.step == step }
		if !slices.ContainsFunc(s.tasks, taken) && !slices.ContainsFunc(s.parked, taken) && !slices.ContainsFunc(s.next, taken) {
			return step
		}
	}
	return s.Steps
}

// forgetTries gives an element all of its attempts again.
func (t *task) forgetTries(element int) {
	for by := range t.tried { //lint:ignore mapiter each is looked at by itself
		if by.element == element {
			delete(t.tried, by)
		}
	}
}

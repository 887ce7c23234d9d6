// Steps of subgraphs, as they count in the run around them (GraphSpec §5).

package machine

// countChild takes what a subgraph came to so far into the run. asked is what it
// had asked before: its steps until then are counted. Those of executions that
// waited then, and were cancelled since, are taken back.
func (s *State) countChild(child *ChildEnd, asked *questions) {
	if child == nil {
		s.forgetWaiting(asked)
		return
	}
	if s.final != nil {
		s.degraded = s.degraded || child.Degraded && s.final.how.status == Completed
		return
	}
	more := child.Steps - asked.counted()
	if asked != nil {
		more = max(more, -asked.waiting)
		asked.steps, asked.waiting = asked.steps+more, 0
	}
	s.ChildSteps += more
	if more > 0 {
		s.progress()
	}
	s.degraded = s.degraded || child.Degraded
	s.outOfSteps = s.outOfSteps || child.OutOfSteps
	if child.OutOfSteps {
		s.grants.Above = max(s.grants.Above, child.Above)
	}
}

// forgetWaiting takes back the steps of executions that wait in a subgraph which
// does not go on.
func (s *State) forgetWaiting(q *questions) {
	if q != nil {
		s.ChildSteps -= q.waiting
		q.steps, q.waiting = q.steps-q.waiting, 0
	}
}

// forgetInside is forgetWaiting for all that a task runs.
func (s *State) forgetInside(t *task) {
	s.forgetWaiting(t.asked)
	if t.each == nil {
		return
	}
	for _, i := range sortedQuestions(t.each.asking) {
		s.forgetWaiting(t.each.asking[i])
	}
}

// waitingInside counts the executions that wait in subgraphs.
func (s *State) waitingInside() int {
	n := 0
	add := func(q *questions) {
		if q != nil {
			n += q.waiting
		}
	}
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			t := &list[i]
			add(t.asked)
			if t.each == nil {
				continue
			}
			for _, i := range sortedQuestions(t.each.asking) {
				add(t.each.asking[i])
			}
			for _, i := range sortedElements(t.each.running) {
				add(t.each.running[i].asked)
			}
		}
	}
	return n
}

// ChildStepsEnded are the steps of subgraphs that have ended, like StepsEnded.
func (s *State) ChildStepsEnded() int { return s.ChildSteps - s.waitingInside() }

// StepsEnded are the steps of a run that rests which have ended, those of its
// subgraphs too: an execution that waits is none yet.
func (s *State) StepsEnded() int {
	ended := s.Steps + s.ChildStepsEnded()
	for _, list := range [...][]task{s.next, s.parked} {
		for i := range list {
			if list[i].step > 0 {
				ended--
			}
		}
	}
	return ended
}

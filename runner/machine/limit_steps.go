// Limits of steps: those of subgraphs count in the run around them, and those that run
// beside others share them (GraphSpec §5). Such a one takes no step that the driver has
// not set aside for it: how many are left depends on what the others do meanwhile, so
// that each grant is an event.

package machine

// stepsLeft is how many steps the run may still take.
func (s *State) stepsLeft() int {
	if s.final != nil {
		return freely
	}
	left := s.ownStepsLeft()
	switch {
	case s.shares():
		left = min(left, s.grants.Granted-s.Steps)
	case s.parent != nil:
		left = min(left, s.parent.StepsLeft-s.Steps-s.ChildSteps)
	}
	return left
}

// spent reports whether no step is left.
func (s *State) spent() bool {
	return s.final == nil && (s.stepsLeft() <= 0 || s.refused > s.limits.MaxSteps)
}

// noStepFor reports whether a task would need a step and none is left.
func (s *State) noStepFor(t *task) bool { return t.visit == 0 && s.spent() }

// CutShort reports whether the run ended because the runs around it had no step
// left.
func (s *State) CutShort() bool {
	switch {
	case !s.outOfSteps || s.parent == nil:
		return false
	case s.parent.Shared:
		return s.grants.Above > 0
	}
	return s.parent.StepsLeft <= s.limits.MaxSteps
}

// CutBy says whose limit that was: 1 is the next run's around this one.
func (s *State) CutBy() int { return max(1, s.grants.Above) }

// outOfSteps ends the run at its step limit, as on_max_steps says. A limit of
// the runs around it is theirs to judge.
func (p *Plan) outOfSteps(s *State) {
	s.open, s.outOfSteps = false, true
	if s.CutShort() {
		p.finish(s, ending{status: Limit, reason: "max_steps", failure: &Failure{
			Kind: "loop_limit", Message: "the run around this one has no step left (max_steps)",
		}})
		return
	}
	failure := &Failure{
		Kind:    "loop_limit",
		Message: "the run has taken " + plural(s.limits.MaxSteps, "step") + ", its limit (max_steps)",
	}
	switch s.limits.OnMaxSteps {
	case "return_last", "flag":
		s.degraded = true
		s.Output = p.outputSoFar(s)
		s.Limited = s.limits.OnMaxSteps == "flag"
		p.finish(s, ending{status: Completed, reason: "max_steps"})
	default:
		p.finish(s, ending{status: Limit, reason: "max_steps", failure: failure})
	}
}

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

// grants are the steps that the runs around a subgraph have granted it.
type grants struct {
	// Granted counts its own steps that it may take, those taken too.
	Granted int `json:"granted,omitempty"`
	// Asked is how many it has asked for and waits for; 0: none.
	Asked int `json:"asked,omitempty"`
	// Denied says that it got fewer than it asked for.
	Denied bool `json:"denied,omitempty"`
	// Above says whose limit left it, or a subgraph of its own, without a step: 1 is
	// that of the next run around; 0: its own, or none did.
	Above int `json:"above,omitempty"`
}

// shares reports whether the run has to ask for its steps.
func (s *State) shares() bool { return s.final == nil && s.parent != nil && s.parent.Shared }

// regrant takes what a run begins or goes on with.
func (s *State) regrant() {
	s.grants = grants{}
	if s.parent != nil {
		s.grants.Granted = s.Steps + s.parent.Granted
		s.grants.Above, s.grants.Denied = s.parent.Above, s.parent.Above > 0
	}
}

// asksSteps asks for the steps of the next superstep. It reports whether these
// have to be waited for.
func (s *State) asksSteps() bool {
	if s.grants.Denied {
		return false
	}
	if s.grants.Asked > 0 {
		return true
	}
	missing := min(s.StepsWanted(), s.ownStepsLeft()) - (s.grants.Granted - s.Steps)
	if missing <= 0 {
		return false
	}
	s.grants.Asked = missing
	s.command(Command{Kind: TakeSteps, Steps: missing})
	return true
}

// stepsGranted takes the answer, also when the run has paused meanwhile.
func (p *Plan) stepsGranted(s *State, e *Event) {
	if s.grants.Asked == 0 {
		return
	}
	s.Effect = Applied
	s.grants.Granted += e.Steps
	if e.Steps < s.grants.Asked {
		s.grants.Denied, s.grants.Above = true, e.Above
	}
	s.grants.Asked = 0
	if s.live {
		p.resumeIdle(s)
	}
}

// StepsWanted is how many steps the tasks that are due next would take, with those that
// were cut off or found no step before, should the run be taken up here.
func (s *State) StepsWanted() int {
	wanted := 0
	if s.open {
		for i := range s.tasks {
			if t := &s.tasks[i]; t.status == dropped && t.lost && t.step == 0 {
				wanted++
			}
		}
	}
	for i := range s.next {
		if s.next[i].visit == 0 {
			wanted++
		}
	}
	return wanted
}

// StepsFree is how many steps the run and its subgraphs may still take as far as
// its own limit goes, and what it was given if it does not share.
func (s *State) StepsFree() int {
	if s.shares() {
		return s.ownStepsLeft()
	}
	return s.stepsLeft()
}

func (s *State) ownStepsLeft() int { return s.limits.MaxSteps - s.Steps - s.ChildSteps }

// sharesSteps reports whether subgraphs that a task of the open superstep runs may
// run beside others.
func (p *Plan) sharesSteps(s *State, t *task) bool {
	n := &p.nodes[t.node]
	if !n.runsGraphs || s.final != nil {
		return false
	}
	if s.shares() || n.kind != "graph" || t.each != nil && len(t.each.items) > 1 {
		return true // the calls of a node's tools may be at once
	}
	for i := range s.tasks {
		other := &s.tasks[i]
		if other != t && p.nodes[other.node].runsGraphs && (other.status == ready || other.status == running) {
			return true
		}
	}
	return false
}

// roomAgain is how many tasks may enter the open superstep of a run that is taken
// up. While subgraphs run of which it is not known how many steps they have taken,
// these are the steps that the run has been given since it was left.
func (p *Plan) roomAgain(s *State, leftBefore int) int {
	room := s.stepsLeft()
	if s.final != nil {
		return freely
	}
	if s.shares() {
		return room
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; (t.status == running || t.status == ready) && p.nodes[t.node].runsGraphs {
			return min(room, room-leftBefore)
		}
	}
	return room
}

// enterAgain revives executions, and lets tasks that were held into the open
// superstep, as far as there is room. They see the state that its other tasks saw.
func (p *Plan) enterAgain(s *State, revive []TaskID, room int) {
	for _, id := range revive {
		t := s.ended(id)
		switch {
		case t == nil:
			continue
		case t.step == 0 && room <= 0:
			s.outOfSteps = true
			continue
		case t.step == 0:
			room--
		}
		p.revive(s, t)
	}
	p.enterHeld(s, room)
}

// ended is an execution of the open superstep that failed or was cut off; nil: it
// has not.
func (s *State) ended(id TaskID) *task {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != dropped && t.status != failed || t.skipped {
			continue
		}
		if t.visit > 0 && t.visit == id.Visit && s.plan.nodes[t.node].id == id.Node {
			return t
		}
	}
	return nil
}

// enterHeld lets tasks that were held into the open superstep, as far as there are
// room now.
func (p *Plan) enterHeld(s *State, room int) {
	first := len(s.tasks)
	s.next = deleteTasks(s.next, func(t *task) bool {
		if !t.held {
			return false
		}
		t.held = false
		s.tasks = append(s.tasks, *t)
		return true
	})
	for i := first; i < len(s.tasks); i++ {
		if i-first >= room || s.noStepFor(&s.tasks[i]) {
			s.hold(i)
			break
		}
		p.enter(s, &s.tasks[i])
	}
}

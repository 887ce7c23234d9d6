// How a run ends by itself, and what is taken back of executions cut short.

package machine

// unstep takes back the step of an execution that was cancelled. Its visit
// stays: the next one is another execution.
func (s *State) unstep(t *task) {
	if t.step > 0 {
		s.takeStep(t)
	}
}

// unstepBecause is unstep of one that waited for its time or a person.
func (s *State) unstepBecause(t *task, why string) {
	if t.cause == nil {
		t.cause = &Failure{Kind: "cancelled", Message: why}
	}
	s.unstep(t)
}

func (s *State) takeStep(t *task) {
	s.Steps--
	t.step = 0
	s.forgetInside(t)
	s.noteStopped(t)
}

// cutShort takes an execution that was cancelled out of the count: as one that
// a resume runs again when the run is ending, else as one that is gone.
func (s *State) cutShort(t *task) {
	if s.closing != nil {
		s.uncount(t)
	} else {
		s.unstep(t)
	}
}

// uncount takes back the step and the visit of an execution that the end of the
// run has cut short: a resume runs it again as the same visit.
func (s *State) uncount(t *task) {
	if t.step > 0 {
		s.takeStep(t)
		t.memory.visits--
	}
}

// cancelled is the end of a run that was asked to cancel, by somebody who may have said
// why.
func cancelled(why string) ending {
	end := ending{status: Cancelled, reason: "cancelled"}
	if why != "" {
		end.failure = &Failure{Kind: "cancelled", Message: why}
	}
	return end
}

// complete ends the run well and computes its output.
func (p *Plan) complete(s *State) {
	output := Plain(s.lastEnd)
	if p.output != nil {
		s.setContext(p.outUses, &task{output: output})
		value, err := p.output.Eval(&s.vm, s.env)
		if err != nil {
			p.finish(s, ending{status: Failed, reason: "expression", failure: &Failure{
				Kind: "expression", Message: "output: " + err.Error(),
			}})
			return
		}
		output = value
	}
	s.Output = output
	p.finish(s, ending{status: Completed, reason: "end"})
}

// outputSoFar is the output of a run that its step limit has ended well: what
// can't be evaluated of it is null.
func (p *Plan) outputSoFar(s *State) any {
	output := Plain(s.lastOutput)
	if p.output == nil {
		return output
	}
	s.setContext(p.outUses, &task{output: output})
	return p.output.EvalParts(&s.vm, s.env)
}

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

// Ending reports whether the run is ending or has ended.
func (s *State) Ending() bool { return s.closing != nil || s.final != nil || s.Ended() }

// Lost returns the executions that a run which ended badly was lost with: those
// that failed and nothing caught, and those that were cut off. Attempt and
// Element are zero.
func (s *State) Lost() []TaskID {
	if s.final != nil {
		return s.final.lost
	}
	var out []TaskID
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.uncaught || t.status == failed && t.failure == s.Failure || t.status == dropped && t.lost {
			out = append(out, TaskID{Node: s.plan.nodes[t.node].id, Visit: t.visit})
		}
	}
	return out
}

// interrupt takes back the executions that did not end.
func (s *State) interrupt() {
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			switch t := &list[i]; t.status {
			case ready, running, delayed, waiting, asking:
				s.uncount(t)
			}
		}
	}
	for i := range s.next { // back from being parked, and not in a superstep yet
		s.uncount(&s.next[i])
	}
}

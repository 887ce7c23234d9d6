// How a run ends, and what is taken back of executions cut short (GraphSpec §11).

package machine

// Status is how a run stands. The zero value means not started.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Stuck     Status = "stuck"
	Limit     Status = "limit"
	Paused    Status = "paused"
	Cancelled Status = "cancelled"
)

// Quality is how well a finished run went; it prints as null while unknown.
type Quality string

// The qualities.
const (
	Clean         Quality = "clean"
	Degraded      Quality = "degraded"
	FailedQuality Quality = "failed"
)

// MarshalJSON prints the quality, or null when it is not known yet.
func (q Quality) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte("null"), nil
	}
	return []byte(`"` + string(q) + `"`), nil
}

// ending is how a run is to end.
type ending struct {
	status  Status
	reason  string
	failure *Failure
}

// end ends the run: at once when nothing runs, else when the running tasks,
// which are cancelled, have ended. The first ending stands.
func (p *Plan) end(s *State, how ending) {
	if s.closing == nil {
		s.closing = &how
		for i := range s.tasks {
			s.cancel(&s.tasks[i], "the run ended before the node did")
		}
	}
	p.settle(s)
}

// settle says what comes next once no task of the superstep is running.
func (p *Plan) settle(s *State) {
	if s.closing != nil {
		if !s.open || s.runningTasks == 0 {
			p.finish(s, *s.closing)
		}
		return
	}
	if s.open && s.readyTasks+s.runningTasks == 0 {
		s.commandAdvance()
	}
}

// finish ends the run, or begins what is to run at its end.
func (p *Plan) finish(s *State, how ending) {
	s.interrupt()
	s.Failure = how.failure
	if len(p.finally) > 0 {
		p.beginFinally(s, how)
		return
	}
	p.conclude(s, how)
}

// conclude puts the end of the run into the state and says so.
func (p *Plan) conclude(s *State, how ending) {
	s.setStatus(how.status, how.reason)
	s.Quality = FailedQuality
	if how.status == Completed {
		s.Quality = Clean
		if s.degraded {
			s.Quality = Degraded
		}
	}
	s.command(Command{Kind: Finish})
}

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

// Apply: one recorded fact in, commands out. Which event leads to which transition:
//
//	event          transition                                                      in
//	RunBegan       the state is set up, the first superstep opens                  begin.go
//	TaskBegan      none: only that it is in the journal counts                     -
//	TaskNoted      the note is kept, what a call of a model came to is counted     step_active.go
//	TaskEnded      an attempt succeeds, fails, is tried again or parks; who        step_task.go
//	               waited for room starts, the last one asks for Advanced          each_element.go
//	Advanced       the superstep closes: writes, routing, then the next one        step.go
//	Decided        a router's answer: the edge that it named fires                 edge.go
//	TimerFired     RunTimer, StepTimer: the run ends                               limit.go
//	               TaskTimer: the attempt is cancelled, to fail when it has ended  limit.go
//	               RetryTimer, WaitTimer: what was parked joins the next superstep wait.go
//	               AnswerTimer: the question is settled without an answer          people.go
//	               BranchTimer: the branch fails                                   fanout_failure.go
//	               GraceTimer: finally has had its time                            finally.go
//	Answered       the question is settled; who has all answers goes on            people.go
//	StepsGranted   a subgraph enters what waited for steps                         limit_steps.go
//	PauseAsked     the run pauses when the open superstep has closed               pause.go
//	CancelAsked    tasks are cancelled; when they have ended, so does the run      ending.go
//	Resumed        the run goes on: what was open is asked for once more           pause_resume.go
//
// A run that is paused takes Resumed and what Event.reachesPaused names, one that has
// ended nothing: the driver leaves its end out of the events to take it up. What came
// of an event is State.Effect.

package machine

import (
	"fmt"

	"github.com/graphrun/graphrun/eval"
)

// Apply brings an event into the state and returns the work that follows. It
// does no I/O, reads no clock and starts no goroutine: the same events give
// the same states and commands. A late or repeated event is a no-op. The
// returned slice is valid until the next call.
//
// A driver appends the event durably, then applies it, then carries out the
// commands.
//
// A panic becomes an error, so that a command over many runs goes on with the others.
func (p *Plan) Apply(s *State, e Event) (commands []Command, err error) {
	defer func() {
		if v := recover(); v != nil {
			commands, err = nil, fmt.Errorf("event %s can't be applied: %v: this is an error in graphrun, please report it", e.Kind, v)
		}
	}()
	return p.apply(s, e)
}

func (p *Plan) apply(s *State, e Event) ([]Command, error) {
	s.reset()
	if e.Kind == RunBegan {
		if s.Status != "" {
			return nil, nil
		}
		s.now, s.Effect = e.At, Applied
		p.begin(s, &e)
		return s.cmds, nil
	}
	switch {
	case e.Kind == Resumed && !s.Ended(), s.Status == Paused && e.reachesPaused():
	case !s.live:
		return nil, nil
	}
	if e.Kind == Advanced && e.Superstep != 0 && e.Superstep != s.Superstep {
		return nil, nil
	}
	if e.Kind == Advanced {
		s.edits = e.Edit
		return p.Advance(s, e.At), nil
	}
	before := s.now
	s.pass(e.At)
	switch e.Kind {
	case TaskBegan, TaskNoted, CancelAsked, PauseAsked, Resumed:
		s.Effect = Applied // the others say so where they find what they are about
	}
	switch e.Kind {
	case TaskBegan:
	case TaskNoted:
		s.spend(&e)
		s.keepNote(&e)
	case TaskEnded:
		p.taskEnded(s, s.noPeople(&e))
		if e.Park == nil && s.Effect != FailedForGood && s.Effect != CutOff {
			delete(s.logs, e.Task) // of the others when the superstep closes: they may be revived
		}
	case TimerFired:
		if s.goesRound() {
			p.endRounds(s)
			break
		}
		p.timerFired(s, &e)
	case Decided:
		p.decided(s, &e)
	case StepsGranted:
		p.stepsGranted(s, &e)
	case CancelAsked:
		if s.final != nil {
			p.hurry(s)
			break
		}
		p.end(s, cancelled(e.Reason))
	case PauseAsked:
		p.pauseAsked(s, e.Reason)
	case Answered:
		p.answered(s, &e)
	case Resumed:
		p.resumed(s, &e, before)
	default:
		return nil, fmt.Errorf("unknown event kind %q", e.Kind)
	}
	return s.cmds, nil
}

// Advance applies an Advanced event that happened at that time (Unix
// nanoseconds), as Apply does, but without an Event: most of the events of a
// run of quick nodes are of that kind.
func (p *Plan) Advance(s *State, at int64) []Command {
	s.reset()
	if !s.live {
		return nil
	}
	s.pass(at)
	if s.final != nil {
		if s.open && s.readyTasks+s.runningTasks == 0 {
			p.closeFinally(s)
		}
		return s.cmds
	}
	p.advance(s)
	return s.cmds
}

// timerFired acts on a timer that is still of interest.
func (p *Plan) timerFired(s *State, e *Event) {
	timer := e.Timer
	if timer == GraceTimer {
		p.graceOver(s)
		return
	}
	if timer == RetryTimer && s.deadline > 0 && e.At >= s.deadline {
		timer = RunTimer // a delay was cut to the deadline: whichever timer is first
	}
	switch timer {
	case RunTimer, StepTimer, TaskTimer, BranchTimer:
		s.Effect = Applied
	}
	switch timer {
	case RunTimer:
		if s.final != nil {
			return
		}
		p.outOfTime(s)
	case StepTimer:
		if s.open && e.Task.Visit == s.Superstep {
			p.end(s, ending{status: Limit, reason: "timeout", failure: &Failure{
				Kind: "timeout", Message: "superstep took longer than step_timeout of " + eval.DurationText(s.limits.StepTimeout),
			}})
		}
	case TaskTimer:
		p.attemptTimedOut(s, e.Task)
	case RetryTimer, WaitTimer:
		if e.Task.Element == 0 || !p.elementDue(s, e.Task) {
			p.unpark(s, e)
		}
	case AnswerTimer:
		p.unanswered(s, e.Task)
	case BranchTimer:
		p.branchTimedOut(s, e.Task)
	}
}

// reset empties the buffers of the event before.
func (s *State) reset() {
	s.cmds, s.Ran, s.Effect = s.cmds[:0], s.Ran[:0], Ignored
	s.notes, s.taken, s.changes, s.confided = s.notes[:0], s.taken[:0], s.changes[:0], nil
}

func (s *State) command(c Command) { s.cmds = append(s.cmds, c) }

// commandAdvance asks for Advance. Mostly that is all there is to ask for, and it
// still stands in the buffer from the event before.
func (s *State) commandAdvance() {
	if len(s.cmds) == 0 && cap(s.cmds) > 0 && s.cmds[:1][0].Kind == Advance {
		s.cmds = s.cmds[:1]
		return
	}
	s.command(Command{Kind: Advance})
}

// Effect is what the last event came to. The zero value says that nothing came
// of it.
type Effect uint8

const (
	// Ignored is an event that came late, twice, or for nobody.
	Ignored Effect = iota
	// Applied is an event that changed the state, or could have.
	Applied
	// Retried is the end of an attempt after which another one follows.
	Retried
	// FailedForGood is the end of the last attempt of an execution, or of an
	// element of one.
	FailedForGood
	// CutOff is the end of an execution, or of an element, that was cancelled.
	CutOff
)

// taskEffect is what the end of an attempt came to.
func (t *task) taskEffect() Effect {
	switch t.status {
	case delayed:
		return Retried
	case failed:
		return FailedForGood
	case dropped:
		return CutOff
	}
	return Applied
}

// elementEffect is what the end of an element's attempt came to.
func (e *eachState) elementEffect(i int, run *elementRun, failure *Failure) Effect {
	switch {
	case run.cause != nil && run.cause.Kind == "cancelled":
		return CutOff
	case failure == nil:
		return Applied
	case e.attempts[i].attempt == run.attempt:
		return Retried
	}
	return FailedForGood
}

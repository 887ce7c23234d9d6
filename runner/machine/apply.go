// Apply: one recorded fact in, commands out. After each event, joins without missing branches run, then
// ready steps start in path order, then scopes without tasks end, until the state changes only with
// another event.

package machine

import (
	"fmt"
	"slices"
	"sort"

	"github.com/graphrun/graphrun/eval"
)

// maxBatch is the maximum number of steps without effects that one event runs.
const maxBatch = 1000

// Apply applies an event to the state and returns the commands that follow. It does no I/O, reads no
// clock and starts no goroutine, so the same events give the same states and commands. A late or
// repeated event changes nothing. The returned slice is valid until the next call.
//
// A driver appends the event durably, then applies it, then executes the commands.
func (p *Plan) Apply(s *State, e Event) ([]Command, error) {
	s.cmds, s.notes, s.noted, s.secretValues, s.batch = s.cmds[:0], s.notes[:0], 0, nil, 0
	if e.StopAt > 0 {
		s.StopAt, s.Edit = e.StopAt, e.Edit
		defer func() { s.StopAt, s.Edit = 0, nil }()
	}
	if e.Kind == RunBegan {
		if s.Status != "" {
			return nil, nil
		}
		s.Now, s.Began = e.At, e.At
		s.beginRun(&e)
		s.runUntilEvent()
		return s.cmds, nil
	}
	if s.Status == "" || s.HasEnded() && e.Kind != Resumed || s.Status == Paused && (e.Kind == Advanced || e.Kind == Decided) {
		return nil, nil
	}
	if e.Kind == Resumed && !s.Parked { // the time without a driver does not count
		s.Idle = true
	}
	s.advanceClock(e.At)
	t := s.findTask(e.Task.Task)
	switch e.Kind {
	case TaskBegan, Advanced:
	case TaskNoted:
		s.recordNote(t, &e)
	case GraphCalled:
		s.callGraph(t, &e)
	case TaskEnded:
		s.handleTaskEnd(t, &e)
	case TimerFired:
		s.handleTimer(t, &e)
	case Decided:
		s.handleDecision(t, &e)
	case Answered:
		s.acceptAnswer(t, &e)
	case CancelAsked:
		s.cancelRun(&e)
	case PauseAsked:
		if s.Parked = e.Reason == "wait"; !s.Parked {
			s.Pausing = s.Pausing || s.root().End == nil
		}
	case Resumed, Admitted:
		s.resumeRun(&e)
	default:
		return nil, fmt.Errorf("unknown event kind %q", e.Kind)
	}
	s.runUntilEvent()
	return s.cmds, nil
}

// advanceClock sets the time of the run, which never decreases.
func (s *State) advanceClock(at int64) {
	if at > s.Now {
		if !s.Idle {
			s.Active += at - s.Now
		}
		s.Now = at
	}
}

// handleTimer handles a fired timer. A timer whose scope, branch or attempt has ended changes nothing.
func (s *State) handleTimer(t *Task, e *Event) {
	switch e.Timer {
	case RunTimer:
		s.endTimedOutScope(e.Task.Task)
		return
	case BranchTimer:
		s.endTimedOutBranch(e.Fan, e.Lane)
		return
	case GraceTimer:
		s.cancelFinally()
		return
	}
	if t == nil {
		return
	}
	if e.Timer == StepTimer {
		t.failTimedOutStep()
		return
	}
	u := t.findUnit(e.Task)
	if u == nil {
		return
	}
	switch e.Timer {
	case TaskTimer:
		limit := eval.DurationText(t.timeout(t.node()))
		t.cancelTimedOutUnit(u, "attempt took longer than its timeout of "+limit)
	case RetryTimer:
		for _, sc := range s.Scopes { // the delay was shortened to the deadline
			if left, ok := sc.timeLeft(); ok && left <= 0 && t.scope.isWithin(sc) {
				s.endTimedOutScope(sc.Owner.Task)
				return
			}
		}
		if u.State == delayed {
			t.queueUnit(u)
		}
	case WaitTimer:
		if u.State == waiting {
			t.endAttempt(u, nil, u.Cause)
		}
	case AnswerTimer:
		t.handleAnswerTimer(u)
	}
}

// runUntilEvent runs everything that needs no further event.
func (s *State) runUntilEvent() {
	for !s.HasEnded() && s.batch <= maxBatch {
		if s.StopAt != 0 && s.root().Count >= s.StopAt {
			return
		}
		if s.resolveNextJoin() || s.startFirstReady() || s.endFinishedScope() {
			continue
		}
		s.updateStatus()
		return
	}
	if !s.HasEnded() {
		s.Idle = false
		s.addCommand(Command{Kind: Advance})
	}
}

// ready is a task that may begin, or a unit that may start an attempt.
type ready struct {
	task *Task
	unit *Unit
}

func (r ready) compare(other ready) int {
	if r.task == other.task && r.unit != nil && other.unit != nil {
		return r.unit.Element - other.unit.Element
	}
	return r.task.compareTo(other.task)
}

// makeReady adds a task or a unit to the ready list, in path order.
func (s *State) makeReady(r ready) {
	at := sort.Search(len(s.ready), func(i int) bool { return s.ready[i].compare(r) > 0 })
	s.ready = slices.Insert(s.ready, at, r)
}

// startFirstReady starts the first ready task or unit that may start, and reports whether it did.
func (s *State) startFirstReady() bool {
	for i := 0; i < len(s.ready); {
		r := s.ready[i]
		starts := r.isReady()
		if starts && !r.mayStart() {
			i++
			continue
		}
		if i == 0 && len(s.ready) > 16 { // avoid shifting all other entries
			s.ready[0], s.ready = ready{}, s.ready[1:]
		} else {
			s.ready = append(s.ready[:i], s.ready[i+1:]...)
		}
		if starts {
			r.startReady()
			return true
		}
	}
	return false
}

// isReady reports whether the entry has neither started nor been cancelled.
func (r ready) isReady() bool {
	t := r.task
	if t.gone || t.scope.suspended || t.scope.End != nil && !t.Final {
		return false
	}
	if r.unit != nil {
		return r.unit.State == queued
	}
	return !t.Begun
}

func (r ready) mayStart() bool {
	if r.unit != nil {
		return r.task.mayStartUnit(r.unit)
	}
	return r.task.mayBegin()
}

func (r ready) startReady() {
	if r.unit == nil {
		r.task.beginStep()
		return
	}
	r.task.startAttempt(r.unit)
	if r.task.Each != nil {
		r.task.beginElements()
	}
}

// endFinishedScope ends the outermost scope without work, and reports whether there is one.
func (s *State) endFinishedScope() bool {
	for _, sc := range s.Scopes {
		switch {
		case sc.Final != nil:
		case sc.End != nil:
			if sc.hasStoppingAttempts() {
				continue
			}
			sc.startNextFinal()
			return true
		case len(sc.Tasks) == 0 && sc.state.isHeldAfter(sc.Path):
		case len(sc.Tasks) == 0:
			sc.completeScope()
			return true
		case sc.Full && !sc.isBusy():
			sc.endAtStepLimit()
			return true
		}
	}
	return false
}

// hasStoppingAttempts reports whether cancelled attempts still run in or within the scope.
func (sc *Scope) hasStoppingAttempts() bool {
	return slices.ContainsFunc(sc.state.Stopping, func(st Stopping) bool {
		inner := sc.state.byID[st.Scope]
		return inner != nil && inner.isWithin(sc)
	})
}

// isBusy reports whether a task in the scope or in an inner scope runs or waits.
func (sc *Scope) isBusy() bool {
	for _, other := range sc.state.Scopes {
		if !other.isWithin(sc) {
			continue
		}
		if other != sc && (other.End != nil || len(other.Tasks) == 0) {
			return true // its result is pending
		}
		for _, t := range other.activeTasks() {
			if t.Deciding || slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.State != queued && u.State != ended && !u.hasOpenGraph() }) {
				return true
			}
		}
	}
	return false
}

// activeTasks returns the tasks that do not wait at a join.
func (sc *Scope) activeTasks() []*Task {
	if sc.Final != nil {
		return []*Task{sc.Final}
	}
	if sc.End != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(sc.Tasks), func(t *Task) bool { return t.Waits })
}

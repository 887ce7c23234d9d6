// Waiting: what parks, until when, and what lets it go on (GraphSpec §5); wait nodes.

package machine

import (
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// runWait parks the task until its time has come.
func (p *Plan) runWait(s *State, t *task, n *node) {
	s.setOwn(n, t)
	config, err := bind.EvalFields(n.config, &s.vm, s.env)
	if err != nil {
		p.fail(s, t, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	delay, failure := waitFor(config, s.now)
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	if n.timeout > 0 && delay > n.timeout {
		delay = n.timeout
		t.cause = &Failure{Kind: "timeout", Message: "attempt took longer than its timeout of " + eval.DurationText(n.timeout)}
	}
	t.status, t.until = waiting, s.after(delay)
	s.waitingTasks++
	s.command(Command{Kind: StartTimer, Timer: WaitTimer, Task: s.taskID(t), For: delay})
}

// waitTime is a length of time: the text of a duration, or seconds.
func waitTime(given any) (time.Duration, *Failure) {
	wrong := &Failure{
		Kind:    "invalid_input",
		Message: "for: " + preview(given, 60) + ` is no duration such as "10s" and no number of seconds from 0 up`,
	}
	if text, ok := given.(string); ok {
		delay, err := time.ParseDuration(text)
		if err != nil || delay < 0 {
			return 0, wrong
		}
		return delay, nil
	}
	seconds, ok := number(given)
	if !ok || seconds < 0 {
		return 0, wrong
	}
	return time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2)), nil
}

// waitFor is how long a wait node waits; a moment that has passed is no wait.
func waitFor(config map[string]any, now int64) (time.Duration, *Failure) {
	if given, ok := config["for"]; ok {
		return waitTime(given)
	}
	text, ok := config["until"].(string)
	until, err := time.Parse(time.RFC3339, text)
	if !ok || err != nil {
		return 0, &Failure{
			Kind:    "invalid_input",
			Message: "until: " + preview(config["until"], 60) + ` is not an RFC 3339 time such as "2030-01-31T12:00:00Z"`,
		}
	}
	return max(0, until.Sub(time.Unix(0, now))), nil
}

// unpark moves a task whose timer fired to the next superstep.
func (p *Plan) unpark(s *State, e *Event) {
	fired := func(t *task) bool {
		return (t.status == delayed && e.Timer == RetryTimer || t.status == waiting && e.Timer == WaitTimer) &&
			s.taskID(t) == e.Task
	}
	for i := range s.tasks {
		if s.open && !s.tasks[i].due && fired(&s.tasks[i]) {
			s.tasks[i].due, s.tasks[i].order, s.Effect = true, s.nextOrder(), Applied
			return
		}
	}
	i := slices.IndexFunc(s.parked, func(t task) bool { return fired(&t) })
	if i < 0 {
		return
	}
	s.Effect = Applied
	p.leavePark(s, i, false)
}

// leavePark lets a parked task join the next superstep. Whoever answers, and the
// end of the time that people have, take a run up that pauses for people, unless
// nobody drives it: then the task goes on when the run is taken up.
func (p *Plan) leavePark(s *State, i int, hold bool) {
	before, _ := s.counted(0)
	s.parked[i].order = s.nextOrder()
	if hold {
		s.parked[i].due = true
		return
	}
	s.next = append(s.next, s.parked[i])
	s.parked = slices.Delete(s.parked, i, i+1)
	s.mixed = true
	if s.Status == Paused && (s.Reason == "human" || s.Reason == "wait") {
		s.shiftLimits(s.now - before)
		s.setStatus(Running, "")
		s.renewTimeout(&Event{}, before)
		p.reissueBranchTimers(s)
	}
	if s.live {
		p.resumeIdle(s)
	}
}

// onlyPeople reports whether all that is left waits for people who have not run
// out of time.
func (s *State) onlyPeople() bool {
	for i := range s.parked {
		t := &s.parked[i]
		if asks, until := t.waitsForPeople(); !asks || t.moment() > 0 || until > 0 && until <= s.now {
			return false
		}
	}
	return len(s.parked) > 0
}

// Idle reports whether nothing of a live run is at work: it waits for people, or
// for timers.
func (s *State) Idle() bool {
	return s.live && !s.open && s.deciding == 0 && s.closing == nil && len(s.next) == 0 && len(s.parked) > 0
}

// Waiting reports whether a live run has nothing to do but to wait for people
// who have, if anything, until a moment after now. With timers, also for such
// moments alone, and until a limit of its time.
func (s *State) Waiting(now int64, timers bool) bool {
	if !s.Idle() || s.final != nil {
		return false
	}
	if limit := s.limit(); limit > 0 && limit <= now {
		return false
	}
	for i := range s.parked {
		t := &s.parked[i]
		waits, until := t.waitsForPeople()
		if moment := t.moment(); moment > 0 {
			waits, until = timers, moment
		}
		if !waits || until > 0 && until <= now {
			return false
		}
	}
	return true
}

// Due is the first moment at which a node that waits for one goes on, as Unix
// time in nanoseconds; 0: none does.
func (s *State) Due() int64 {
	first := int64(0)
	for i := range s.parked {
		first = sooner(first, s.parked[i].moment())
	}
	return first
}

// GoesOnAt is the first moment at which a run that waits for one goes on, or a
// limit of its time is over, as Unix time in nanoseconds; 0: it waits for none.
func (s *State) GoesOnAt() int64 {
	due := s.Due()
	if due == 0 {
		return 0
	}
	return sooner(due, s.limit())
}

// FirstDue is when something that waits goes on by itself, a question that nobody
// answers too, or a limit of time ends that goes on meanwhile, as Unix time in
// nanoseconds; 0: never.
func (s *State) FirstDue() int64 {
	first := int64(0)
	if s.timeGoesOn() {
		first = s.GoesOnAt()
	}
	for _, list := range [...][]task{s.tasks, s.parked} {
		for i := range list {
			if t := &list[i]; !t.due && t.status != dropped {
				first = sooner(sooner(first, t.moment()), t.peopleUntil())
			}
		}
	}
	return first
}

// WaitsUntil is when a run goes on in which nothing is at work and only time has to
// pass; 0: it is no such run.
func (s *State) WaitsUntil() int64 {
	if !s.Idle() || s.final != nil || s.Due() == 0 {
		return 0
	}
	return s.FirstDue()
}

// moment is when a parked task goes on whatever people do; 0: never.
func (t *task) moment() int64 {
	switch {
	case t.each != nil:
		first := int64(0)
		for _, i := range sortedQuestions(t.each.asking) {
			first = sooner(first, t.each.asking[i].until)
		}
		for _, i := range sortedAttempts(t.each.attempts) {
			first = sooner(first, t.each.attempts[i].until)
		}
		return first
	case t.status == waiting || t.status == delayed:
		return t.until
	case t.asked != nil:
		return t.asked.until
	}
	return 0
}

// sooner is the earlier of two moments, of which 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// waitsForPeople reports whether only people can let a parked task go on, and
// until when they have time; 0: for ever.
func (t *task) waitsForPeople() (asks bool, until int64) {
	if t.status != asking {
		return false, 0
	}
	return true, t.peopleUntil()
}

// peopleUntil is until when the people whom a task asks have time; 0: for ever.
func (t *task) peopleUntil() (until int64) {
	switch {
	case t.each != nil:
		for _, i := range sortedQuestions(t.each.asking) {
			until = sooner(until, t.each.asking[i].deadline())
		}
	case t.status == asking:
		until = t.asked.deadline()
	}
	return until
}

// reachesPaused says which events a paused run takes besides Resumed: answers, the
// end of the time that people have, steps that it asked for, and a cancel.
func (e *Event) reachesPaused() bool {
	switch e.Kind {
	case Answered, CancelAsked, StepsGranted:
		return true
	case TimerFired:
		return e.Timer == AnswerTimer || e.Timer == WaitTimer || e.Timer == RetryTimer
	}
	return false
}

// pass lets time go on to a moment. It never goes back: when a clock was set back,
// what waits has the time left that it had when something last happened.
func (s *State) pass(at int64) { s.now = max(s.now, at) }

// remaining is how long from now until a moment; none when it has passed.
func (s *State) remaining(moment int64) time.Duration {
	return time.Duration(max(0, moment-s.now))
}

// Runs taken up again: what was open is asked for once more.

package machine

import (
	"slices"
)

// resumed takes a run up again: limits may be new, breakpoints let through, and
// what was under way is asked for again.
func (p *Plan) resumed(s *State, e *Event, before int64) {
	left := s.stepsLeft()
	forked := e.Run != nil && e.Run.ID != "" && e.Run.ID != s.RunID
	if e.Run != nil {
		s.become(e.Run)
		s.applySettings(e.Run)
		if e.Run.Parent != nil {
			s.parent = e.Run.Parent
			s.limits.MaxStateBytes = maxStateBytes(&p.limits, s.parent)
		}
	}
	s.regrant()
	for _, id := range e.Clean {
		if t := s.undecided(id); t != nil {
			t.newTurns()
		}
		delete(s.logs, id)
	}
	wasPaused := s.Status == Paused
	before, waited := s.counted(before)
	s.shiftLimits(s.now - before)
	if s.undriven += s.now - before; forked {
		s.undriven = 0 // the idle time belongs to the run that was forked
	}
	s.setStatus(Running, "")
	if s.final == nil {
		s.Quality, s.Failure = "", nil
	}
	s.endings = max(s.endings, e.Endings)
	wasOut := s.outOfSteps
	s.PausedAt, s.pauseDue, s.outOfSteps, s.noStep = nil, false, false, false
	for i := range s.next {
		s.next[i].released = true
	}
	s.passBreakpoints()
	s.releaseAnswered()
	if s.final == nil {
		s.renewTimeout(e, before)
	} else if s.final.hurried {
		s.command(Command{Kind: StartTimer, Timer: GraceTimer, For: finallyGrace})
	}
	if len(e.Undo)+len(e.Revive) > 0 { // the end of the run was told to end them
		s.noteStartedAgain()
	}
	if s.open {
		if wasOut { // the driver stopped before the end that this was to be
			e.Revive = append(s.Lost(), e.Revive...)
		}
		p.enterAgain(s, e.Revive, p.roomAgain(s, left))
		if s.violated != nil {
			p.end(s, *s.violated)
			return
		}
	}
	p.reissue(s)
	if waited && p.limitOver(s) {
		return
	}
	if wasPaused || !s.open {
		p.resumeIdle(s)
	}
}

// resumeIdle goes on when no superstep is open.
func (p *Plan) resumeIdle(s *State) {
	if !s.open && s.deciding == 0 && s.closing == nil {
		p.proceed(s)
	}
}

// releaseAnswered lets parked tasks go on that were answered while nobody drove
// the run.
func (s *State) releaseAnswered() {
	s.parked = deleteTasks(s.parked, func(t *task) bool {
		if t.due {
			s.next = append(s.next, *t)
			s.mixed = true
		}
		return t.due
	})
}

// reissue asks again for everything that is under way.
func (p *Plan) reissue(s *State) {
	if s.open {
		for i := range s.tasks {
			p.reissueTask(s, &s.tasks[i])
		}
	}
	for i := range s.parked {
		p.reissueParked(s, &s.parked[i])
	}
	for i := range s.next {
		if t := &s.next[i]; t.each != nil { // some of its elements may still wait
			s.waitAgain(t)
		}
	}
	p.reissueBranchTimers(s)
	if !s.open {
		for i := range s.tasks {
			if t := &s.tasks[i]; t.waitsFor && t.choice == nil {
				s.command(Command{Kind: Decide, Task: s.taskID(t), Choice: p.choiceOf(s, t)})
			}
		}
		return
	}
	if s.limits.StepTimeout > 0 {
		s.command(Command{Kind: StartTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}, For: s.limits.StepTimeout})
	}
	p.startReady(s)
	p.settle(s)
}

// reissueTask asks for a running task again, as the same attempt. One that had been
// cancelled, or was out of time, when its driver vanished has ended with that.
func (p *Plan) reissueTask(s *State, t *task) {
	switch {
	case t.status == delayed || t.status == waiting || t.status == asking:
		p.reissueParked(s, t)
	case t.each != nil:
		for _, i := range sortedElements(t.each.running) {
			run := t.each.running[i]
			if run == nil {
				continue // it went with another
			}
			if run.cause != nil {
				p.elementEnded(s, t, &Event{Task: s.elementID(t, i, run.attempt), Failure: run.cause})
				continue
			}
			p.runAgain(s, t, i, run.attempt, run.asked)
		}
		if t.status == ready || t.status == running {
			s.waitAgain(t)
		}
	case t.status == running && t.cause != nil:
		p.executionEnded(s, t, &Event{Task: s.taskID(t), Failure: t.cause})
	case t.status == running:
		p.runAgain(s, t, -1, t.attempt, t.asked)
	}
}

// waitAgain sets the timers and asks the questions of elements again.
func (s *State) waitAgain(t *task) {
	for _, i := range sortedAttempts(t.each.attempts) {
		if slices.Contains(t.each.again, i) {
			continue
		}
		failed := t.each.attempts[i]
		s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: s.elementID(t, i, failed.attempt), For: s.remaining(failed.until)})
	}
	for _, i := range sortedQuestions(t.each.asking) {
		s.askAll(s.elementID(t, i, t.each.asking[i].attempt), t.each.asking[i])
	}
}

func (p *Plan) runAgain(s *State, t *task, element, attempt int, asked *questions) {
	id := s.taskID(t)
	if element >= 0 {
		s.setElement(t.each, element)
		id = s.elementID(t, element, attempt)
	}
	work, failure := p.work(s, t, element)
	if failure != nil {
		return // it was evaluated before: the same values give the same work
	}
	ends := s.handOver(id, work, asked)
	if element >= 0 {
		t.each.running[element].ends = ends
	} else {
		t.ends = ends
	}
}

// handOver gives an attempt to the driver, with what it noted and was answered
// when it ran before. It returns when the time of the attempt ends; 0: never.
func (s *State) handOver(id TaskID, work *Work, asked *questions) (ends int64) {
	if s.logs != nil {
		work.Log = s.logs[id]
	}
	work.Answers = asked.answers()
	work.StepsCounted = asked.counted()
	work.StepsLeft += work.StepsCounted // it counts them itself
	if asked == nil {
		s.progress()
	} else {
		s.barren()
	}
	s.command(Command{Kind: RunTask, Task: id, Work: work})
	if work.Timeout == 0 {
		return 0
	}
	left := work.Timeout
	if asked != nil && asked.ends > 0 {
		left = s.remaining(asked.ends)
	}
	s.command(Command{Kind: StartTimer, Timer: TaskTimer, Task: id, For: left})
	return s.after(left)
}

// reissueParked starts a parked task's timer again, or asks its question again.
// What was to happen while nobody drove the run happens at once.
func (p *Plan) reissueParked(s *State, t *task) {
	id := s.taskID(t)
	if t.each != nil {
		s.waitAgain(t)
		return
	}
	switch t.status {
	case delayed:
		s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: id, For: s.remaining(t.until)})
	case waiting:
		s.command(Command{Kind: StartTimer, Timer: WaitTimer, Task: id, For: s.remaining(t.until)})
	case asking:
		if t.due {
			return
		}
		s.askAll(id, t.asked)
	}
}

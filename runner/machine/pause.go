// Pauses and going on: breakpoints, questions, runs taken up again.

package machine

import (
	"slices"
	"strings"
)

// Breakpoint is where a run stands paused: phase "before" or "after" the nodes.
type Breakpoint struct {
	Phase string
	Nodes []string
}

// pause stops the run until it is resumed, or its questions are answered.
func (p *Plan) pause(s *State, reason string) {
	s.setStatus(Paused, reason)
	s.pausedFrom = s.now
	if s.deadline > 0 {
		s.command(Command{Kind: StopTimer, Timer: RunTimer})
	}
	s.eachBranch(func(at place) { s.command(Command{Kind: StopTimer, Timer: BranchTimer, Task: p.laneID(at)}) })
	s.command(Command{Kind: Pause})
}

// stopBefore pauses before nodes that are due and have a breakpoint; nodes it
// has paused for once are let through.
func (p *Plan) stopBefore(s *State) bool {
	if len(s.breakBefore) == 0 {
		return false
	}
	var nodes []string
	for i := range s.next {
		t := &s.next[i]
		if t.visit == 0 && !t.released && slices.Contains(s.breakBefore, p.nodes[t.node].id) {
			nodes = append(nodes, p.nodes[t.node].id)
		}
	}
	if nodes == nil {
		return false
	}
	s.PausedAt = &Breakpoint{Phase: "before", Nodes: nodes}
	p.pause(s, "pause")
	return true
}

// stopAfter notes that the superstep that has just closed ran a node with a
// breakpoint.
func (p *Plan) stopAfter(s *State) {
	var nodes []string
	for _, i := range s.Ran {
		if id := p.nodes[i].id; slices.Contains(s.breakAfter, id) && !slices.Contains(nodes, id) {
			nodes = append(nodes, id)
		}
	}
	if nodes != nil {
		s.PausedAt, s.pauseDue = &Breakpoint{Phase: "after", Nodes: nodes}, true
	}
}

// pauseAsked pauses when no superstep is open, else when this one closes: soon,
// since its subgraphs pause too. A run is paused to wait only while it does.
func (p *Plan) pauseAsked(s *State, reason string) {
	if s.final != nil {
		return // the end of the run is decided
	}
	if reason == "wait" {
		if s.Idle() {
			p.pause(s, reason)
		}
		return
	}
	s.pauseDue = true
	for i := range s.tasks {
		t := &s.tasks[i]
		switch {
		case !s.open || p.nodes[t.node].kind != "graph":
		case t.each != nil:
			for _, i := range sortedElements(t.each.running) {
				s.command(Command{Kind: PauseTask, Task: s.elementID(t, i, t.each.running[i].attempt)})
			}
		case t.status == running:
			s.command(Command{Kind: PauseTask, Task: s.taskID(t)})
		}
	}
	if !s.open && s.deciding == 0 && s.closing == nil {
		p.proceed(s)
	}
}

// resumed takes a run up again: limits may be new, breakpoints let through, and
// what was under way is asked for again.
func (p *Plan) resumed(s *State, e *Event, before int64) {
	left := s.stepsLeft()
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

// passBreakpoints lets subgraphs that stand at a breakpoint run again.
func (s *State) passBreakpoints() {
	s.parked = deleteTasks(s.parked, func(t *task) bool {
		goes := t.asked != nil && t.asked.pass()
		if t.each != nil {
			for _, i := range sortedQuestions(t.each.asking) {
				if t.each.asking[i].pass() && !slices.Contains(t.each.again, i) {
					t.each.again = append(t.each.again, i)
					goes = true
				}
			}
		}
		if goes {
			s.next = append(s.next, *t)
			s.mixed = true
		}
		return goes
	})
}

// standAt adds to the breakpoint of the run those that its subgraphs stand at.
func (s *State) standAt() {
	add := func(id TaskID, at *Breakpoint) {
		if at == nil || len(at.Nodes) == 0 || s.PausedAt != nil && s.PausedAt.Phase != at.Phase {
			return
		}
		if s.PausedAt == nil {
			s.PausedAt = &Breakpoint{Phase: at.Phase}
		}
		for _, node := range at.Nodes {
			inner := Question{Task: id, Ask: Ask{Node: node}}
			s.PausedAt.Nodes = append(s.PausedAt.Nodes, inner.Path())
		}
	}
	for i := range s.parked {
		t := &s.parked[i]
		if t.asked != nil {
			add(s.taskID(t), t.asked.at)
		}
		if t.each == nil {
			continue
		}
		for _, i := range sortedQuestions(t.each.asking) {
			add(s.elementID(t, i, 1), t.each.asking[i].at)
		}
	}
}

// inside are the breakpoints of a subgraph among those of the run.
func inside(breakpoints []string, node string) []string {
	var out []string
	for _, path := range breakpoints {
		if first, rest, nested := strings.Cut(path, "/"); nested && first == node {
			out = append(out, rest)
		}
	}
	return out
}

// pass wakes a subgraph that stands at a breakpoint; it reports whether it does.
func (q *questions) pass() bool {
	if q.at == nil {
		return false
	}
	q.at, q.woken = nil, true
	return true
}

func sortedAttempts(attempts map[int]failedAttempt) []int {
	out := make([]int, 0, len(attempts))
	for i := range attempts { //lint:ignore mapiter sorted below
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// Pauses at breakpoints, and resumes (GraphSpec §5).

package machine

import (
	"cmp"
	"slices"
	"strings"
)

// findBreakpoint returns the path of the task's node, and whether a breakpoint stops the task there. A
// breakpoint stops a task only once.
func (t *Task) findBreakpoint(phase string) (path string, stops bool) {
	s, sc := t.scope.state, t.scope
	g := sc.plan.Graph
	own, names := g.PauseBefore, s.Run.PauseBefore
	if phase == "after" {
		own, names = g.PauseAfter, s.Run.PauseAfter
	}
	if len(own)+len(names) == 0 {
		return "", false
	}
	place := t.place()
	path = place.Path()
	found := slices.Contains(names, path) || slices.Contains(names, WithoutIndexes(path))
	for _, name := range own {
		found = found || name.Value == place.Node
	}
	return path, found && (phase == "after" || !t.Passed)
}

func (s *State) pauseAtBreakpoint(phase, path string) {
	s.Pausing = true
	s.PausedAt = append(s.PausedAt, Stop{phase, path})
}

// isHeldAfter reports whether a breakpoint in a scope delays its end.
func (s *State) isHeldAfter(path string) bool {
	return s.Pausing && slices.ContainsFunc(s.PausedAt, func(at Stop) bool {
		return at.Phase == "after" && at.Node[:max(0, strings.LastIndexByte(at.Node, '/'))] == path
	})
}

// describeActivity reports whether the run works, waits for people, or waits for time.
func (s *State) describeActivity() (working, asks, waits bool) {
	working = len(s.Stopping) > 0
	for _, sc := range s.Scopes {
		working = working || slices.ContainsFunc(sc.activeTasks(), func(t *Task) bool { return t.Deciding })
	}
	for _, u := range activeUnits(s.Scopes...) {
		switch u.State {
		case asking:
			asks = true
		case waiting, delayed:
			waits = true
		case running:
			working = working || !u.hasOpenGraph()
		case queued:
			working = working || u.Begun && !s.Pausing
		}
	}
	return working, asks, waits
}

// updateStatus sets the status of a run that waits for an event.
func (s *State) updateStatus() {
	working, asks, waits := s.describeActivity()
	switch {
	case !working && waits && s.Parked && s.Status != Paused:
		s.Status, s.Reason = Paused, "wait"
		s.addCommand(Command{Kind: Pause})
	case working || waits && !s.Pausing && !s.Parked:
		s.wakeRun()
	case s.Parked && waits:
	case s.Pausing:
		reason := "pause"
		if s.Run.Held {
			reason = "concurrency"
		}
		s.pauseRun(reason)
	case asks:
		s.pauseRun("human")
	}
}

func (s *State) pauseRun(reason string) {
	if s.Status == Paused {
		s.Reason = reason
		return
	}
	s.Status, s.Reason = Paused, reason
	if !s.Idle {
		s.Idle = true
		s.switchClockTimers(StopTimer)
	}
	s.addCommand(Command{Kind: Pause})
}

// wakeRun sets a paused run to running and starts its clock timers.
func (s *State) wakeRun() {
	if s.Status == Paused {
		s.Status, s.Reason = Running, ""
	}
	if s.Idle {
		s.Idle = false
		s.switchClockTimers(StartTimer)
	}
}

// resumeRun continues a run that paused, did not complete, or lost its driver.
func (s *State) resumeRun(e *Event) {
	if s.Status == Completed {
		return
	}
	ended := s.HasEnded()
	if e.Run != nil {
		s.applySettings(e.Run)
	}
	s.Status, s.Reason, s.Pausing, s.Parked, s.PausedAt, s.Grace = Running, "", false, false, nil, 0
	s.Run.Held = false
	s.Stopping, s.ready = nil, nil
	root := s.root()
	for name, value := range e.Edit { //lint:ignore mapiter each key is set once
		for _, v := range root.Views {
			root.loadValue(v, name, value)
		}
	}
	for _, sc := range s.Scopes {
		sc.running, sc.due = 0, true
	}
	s.Idle = true
	if ended {
		s.Quality, s.Failure, s.Output, s.Limited = "", nil, nil, false
		root.reopenScope()
	} else {
		for _, sc := range s.scopesInCallOrder() {
			sc.reissueTasks(nil)
		}
	}
	s.wakeRun()
	if root.End != nil && root.End.Status == Cancelled {
		s.startGrace()
	}
}

// applySettings applies the settings of the caller of a resume.
func (s *State) applySettings(info *RunInfo) {
	if info.ID != "" && info.ID != s.Run.ID {
		s.Run.ID, s.Run.Dir = info.ID, info.Dir
	}
	run := &s.Run
	run.MaxSteps = cmp.Or(info.MaxSteps, run.MaxSteps)
	run.MaxConcurrency = cmp.Or(info.MaxConcurrency, run.MaxConcurrency)
	run.MaxStateBytes = cmp.Or(info.MaxStateBytes, run.MaxStateBytes)
	s.Goal = cmp.Or(info.Goal, s.Goal)
	if info.Timeout > 0 {
		run.Timeout, s.root().Since = info.Timeout, s.Active
	}
	if info.Models != nil {
		s.Models = *info.Models
	}
	run.PauseBefore = mergeNames(run.PauseBefore, info.PauseBefore)
	run.PauseAfter = mergeNames(run.PauseAfter, info.PauseAfter)
	for _, sc := range s.Scopes {
		sc.setLimits()
	}
}

// mergeNames returns the names of both lists, without duplicates.
func mergeNames(list, more []string) []string {
	all := slices.Sorted(slices.Values(slices.Concat(list, more)))
	return slices.Compact(all)
}

// reissueTasks repeats the commands for a scope's active tasks, beginning with one task.
func (sc *Scope) reissueTasks(first *Task) {
	tasks := sc.activeTasks()
	if at := slices.Index(tasks, first); at > 0 {
		tasks = slices.Insert(slices.Delete(tasks, at, at+1), 0, first)
	}
	for _, t := range tasks {
		if !t.gone {
			t.reissueTask()
		}
	}
}

func (t *Task) reissueTask() {
	sc := t.scope
	s := sc.state
	switch {
	case !t.Begun:
		s.makeReady(ready{t, nil})
		return
	case t.Deciding:
		s.addCommand(Command{Kind: Decide, Task: TaskID{Task: t.ID}, Choice: t.newChoice()})
		return
	case t.Done:
		return
	}
	t.startStepTimer()
	if len(t.Units) == 0 && t.Each == nil {
		t.createUnits() // the whole step runs again
		return
	}
	for _, u := range slices.Clone(t.Units) {
		t.reissueUnit(u)
	}
	if t.Each != nil && !t.Done {
		t.beginElements()
	}
}

func (t *Task) reissueUnit(u *Unit) {
	s := t.scope.state
	timer := func(kind TimerKind, at int64) {
		s.addCommand(Command{Kind: StartTimer, Timer: kind, Task: t.attemptID(u), For: s.timeUntil(at)})
	}
	isHuman := t.node().act == actHuman
	if u.State == queued && len(u.Questions) > 0 && (isHuman || !u.isAnswered()) {
		u.State = asking // the unit was interrupted while it asked
	}
	switch {
	case u.State == queued:
		t.queueUnit(u)
	case u.State == running && !u.runsGraph(): // the same attempt runs again
		u.State = queued
		s.makeReady(ready{t, u})
	case u.State == running && u.Ends > 0:
		timer(TaskTimer, u.Ends)
	case u.State == waiting:
		timer(WaitTimer, u.Until)
	case u.State == delayed:
		timer(RetryTimer, u.Until)
	case u.State == asking:
		if t.Stopped {
			t.noteContinued()
		}
		if u.isAnswered() { // the answers came while the run had no driver
			t.continueIfAnswered(u)
			return
		}
		t.askQuestions(u)
	}
}

// reopenScope makes an ended or interrupted scope runnable again.
func (sc *Scope) reopenScope() {
	s := sc.state
	if sc.suspended || s.byID[sc.ID] == nil {
		sc.suspended = false
		at, _ := slices.BinarySearchFunc(s.Scopes, sc.ID, func(o *Scope, id int) int { return o.ID - id })
		s.Scopes, s.byID[sc.ID] = slices.Insert(s.Scopes, at, sc), sc
	}
	if sc.End != nil && sc.End.Status == Limit {
		sc.Since, sc.Refused = s.Active, 0
	}
	sc.FinalView, sc.End, sc.Full, sc.Final, sc.Finals, sc.FinalNext = 0, nil, false, nil, nil, 0
	sc.running = 0
	sc.setLimits()
	sc.due = true
	failed := findFirst(sc.allTasks(), func(t *Task) bool { return t.ID == sc.Culprit })
	if failed != nil {
		sc.reviveTask(failed)
	}
	sc.Culprit = 0
	sc.reissueTasks(failed)
}

// reviveTask prepares the task whose failure ended the scope for another run.
func (sc *Scope) reviveTask(t *Task) {
	if i := slices.Index(sc.Gone, t); i >= 0 {
		sc.Gone = slices.Delete(sc.Gone, i, i+1)
		t.Lost = nil
		for _, lane := range t.Place {
			if b := &sc.findFan(lane.Fan).Branch[lane.Lane]; b.By == t.ID {
				b.Failed, b.By = nil, 0
			}
		}
	}
	if i := slices.Index(sc.Ended, t); i >= 0 { // it may not reach END this time
		sc.Ended = slices.Delete(sc.Ended, i, i+1)
	}
	if t.gone = false; !slices.Contains(sc.Tasks, t) {
		sc.Tasks = append(sc.Tasks, t)
	}
	if t.Node == endNode { // a policy refused the end
		sc.placeTask(t)
		return
	}
	if t.Done && t.Number > 0 {
		sc.state.Done--
	}
	t.Begun = t.Begun && !t.Refused
	t.Done, t.Choice, t.Deciding, t.Thread, t.Notes = false, nil, false, nil, nil
	t.Failure, t.Refused, t.Late, t.Output, t.Writes = nil, false, false, nil, nil
	t.Calls.startAttempt()
	if !t.Begun {
		return
	}
	t.Units = slices.DeleteFunc(t.Units, func(u *Unit) bool { return u.State == ended && u.Failure == nil && !u.CutOff })
	if len(t.Units) == 0 || t.Preset != nil {
		t.Units, t.Each, t.Skipped = nil, nil, false
	}
	for _, u := range t.Units {
		if u.State == ended {
			t.reviveUnit(u)
		}
	}
}

// reviveUnit prepares a failed or interrupted unit for another run.
func (t *Task) reviveUnit(u *Unit) {
	if u.Failure != nil {
		u.Calls.startAttempt()
		u.Attempt, u.Tried = 1, nil
		if t.Each != nil {
			t.Each.Done--
			delete(t.Each.Failures, u.Element-1)
		}
	}
	u.State, u.Failure, u.CutOff, u.Round = queued, nil, false, 0
}

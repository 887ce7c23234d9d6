// Apply: one recorded fact in, commands out. This file is the table of
// contents of the machine.

package machine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// Apply brings an event into the state and returns the work that follows. It
// does no I/O, reads no clock and starts no goroutine: the same events give
// the same states and commands. A late or repeated event is a no-op. The
// returned slice is valid until the next call.
//
// A driver appends the event durably, then applies it, then carries out the
// commands.
func (p *Plan) Apply(s *State, e Event) ([]Command, error) {
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
		if !p.goesRound(s) {
			p.timerFired(s, &e)
		}
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

// begin sets up the state from the run's input and enters the start node.
func (p *Plan) begin(s *State, e *Event) {
	info := e.Run
	if info == nil {
		info = &RunInfo{}
	}
	s.RunID, s.began = info.ID, e.At
	s.setStatus(Running, "")
	s.limits, s.goal, s.parent = p.limits, p.goal, info.Parent
	s.regrant()
	s.breakBefore, s.breakAfter = p.breakBefore, p.breakAfter
	s.limits.MaxStateBytes = maxStateBytes(&p.limits, s.parent)
	s.applySettings(info)
	s.env = maps.Clone(p.initial)
	s.size, s.sizes = p.size, slices.Clone(p.sizes)
	s.loadInput(info.Session)
	s.loadInput(e.Input)
	s.edit(e.Edit)
	s.loadContext(e.Input, info.Dir)
	if s.limits.Timeout > 0 {
		s.deadline = e.At + int64(s.limits.Timeout)
		s.command(Command{Kind: StartTimer, Timer: RunTimer, For: s.limits.Timeout})
	}
	var input any = e.Input
	if e.Input == nil {
		input = map[string]any{}
	}
	s.next = append(s.next, task{node: p.start, input: input, thread: p.firstThread(s, info.Talk)})
	if p.group != nil {
		s.Group, _ = p.Group(e) // a driver has seen to it that there is no error
	}
	if info.Held {
		p.pause(s, "concurrency")
		return
	}
	p.openSuperstep(s)
}

// applySettings puts a caller's settings in the place of the graph's.
func (s *State) applySettings(info *RunInfo) {
	if info.MaxSteps > 0 {
		s.limits.MaxSteps = info.MaxSteps
	}
	if info.MaxConcurrency > 0 {
		s.limits.MaxConcurrency = info.MaxConcurrency
	}
	if info.MaxStateBytes > 0 {
		s.limits.MaxStateBytes = info.MaxStateBytes
	}
	if info.Timeout > 0 {
		s.limits.Timeout = info.Timeout
	}
	if info.Goal != "" {
		s.goal = info.Goal
	}
	if info.Models != nil {
		s.models = *info.Models
	}
	s.breakBefore = withAll(s.breakBefore, info.PauseBefore)
	s.breakAfter = withAll(s.breakAfter, info.PauseAfter)
}

// withAll is a new list of what is in either.
func withAll(list, more []string) []string {
	out := slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// edit sets state keys by hand: a fork may.
func (s *State) edit(values map[string]any) {
	if len(values) > 0 {
		s.loadInput(values)
	}
	s.edits = nil
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

// outOfTime ends a run that took longer than its timeout.
func (p *Plan) outOfTime(s *State) {
	p.end(s, ending{status: Limit, reason: "timeout", failure: &Failure{
		Kind: "timeout", Message: "the run took longer than its timeout of " + eval.DurationText(s.limits.Timeout),
	}})
}

// attemptTimedOut cancels an attempt; it fails when it has ended.
func (p *Plan) attemptTimedOut(s *State, id TaskID) {
	t := s.find(id)
	if t == nil {
		return
	}
	failure := &Failure{
		Kind: "timeout", Message: "attempt took longer than its timeout of " + eval.DurationText(p.timeoutOf(t.node)),
	}
	if t.each != nil {
		run := t.each.running[id.Element-1]
		if run == nil || run.attempt != id.Attempt || run.cause != nil {
			return
		}
		run.cause = failure
	} else if t.status == running && t.cause == nil {
		t.cause = failure
	} else {
		return
	}
	s.command(Command{Kind: CancelTask, Task: id})
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

// resumeIdle goes on when no superstep is open.
func (p *Plan) resumeIdle(s *State) {
	if !s.open && s.deciding == 0 && s.closing == nil {
		p.proceed(s)
	}
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

// Begun returns the step that a task of the open superstep is, and the branch it
// is in; 0 when there is no such task.
func (s *State) Begun(id TaskID) (step int, branch string) {
	t := s.find(id)
	if t == nil {
		return 0, ""
	}
	if t.at.fan != nil {
		branch = s.plan.branchName(t.at)
	}
	return t.step, branch
}

// find returns the task of the open superstep with that id, or nil. A visit that is
// skipped has the number of the one before, which may still be at work.
func (s *State) find(id TaskID) *task {
	if len(s.index) > 0 {
		i, ok := s.index[TaskID{Node: id.Node, Visit: id.Visit}]
		if ok && (s.tasks[i].attempt == id.Attempt || id.Element > 0) {
			return &s.tasks[i]
		}
		return nil
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.visit == id.Visit && !t.skipped && (t.attempt == id.Attempt || id.Element > 0) && s.plan.nodes[t.node].id == id.Node {
			return t
		}
	}
	return nil
}

// timeoutOf is the timeout of one attempt of a node; 0: none.
func (p *Plan) timeoutOf(node int) time.Duration {
	if d := p.nodes[node].timeout; d > 0 {
		return d
	}
	return p.limits.NodeTimeout
}

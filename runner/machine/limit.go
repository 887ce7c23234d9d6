// Limits of time, of visits and of going round without getting anywhere; and which time
// counts: that in which the run is at work or waits for a moment, not that in which it
// waits for people, or for somebody who takes it up.

package machine

import (
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// limit is when the first limit of time is over, as Unix time in nanoseconds; 0:
// there is none.
func (s *State) limit() int64 {
	first := s.deadline
	s.eachBranch(func(at place) {
		if _, atWork, held := s.tokenOn(at); atWork || held {
			first = sooner(first, s.laneUntil(at))
		}
	})
	return first
}

// eachBranch calls do for the branches whose limit of time is not over, those too
// that wait at a join.
func (s *State) eachBranch(do func(at place)) {
	for _, f := range s.laned {
		for lane := range f.first {
			if !f.dead && f.live > 0 && f.again[lane] != through {
				do(place{f, lane})
			}
		}
	}
}

// laneUntil is when the time of a branch is over.
func (s *State) laneUntil(at place) int64 {
	from := at.fan.began
	if again := at.fan.again[at.lane]; again > 0 {
		from = again
	}
	if from == 0 { // of a journal that does not say
		return s.after(s.plan.branchTimeout(at.fan.origin))
	}
	return from + int64(s.plan.branchTimeout(at.fan.origin))
}

// timeGoesOn reports whether a run that rests waits for a moment, so that its time
// counts.
func (s *State) timeGoesOn() bool {
	return s.Idle() || s.Status == Paused && s.Reason == "wait"
}

// counted is up to when the time counted of a run that is taken up now: that of its
// last event, or when it waited for a moment, that moment, or now if it is sooner.
// waited says that it did.
func (s *State) counted(last int64) (until int64, waited bool) {
	if s.Status == Paused {
		last = s.pausedFrom
	}
	if due := s.GoesOnAt(); due > 0 && s.timeGoesOn() {
		return max(last, min(due, s.now)), true
	}
	return last, false
}

// shiftLimits moves the limits of branches, and of attempts of subgraphs that
// rest, by the time that did not count.
func (s *State) shiftLimits(by int64) {
	for _, f := range s.laned {
		if f.began > 0 {
			f.began += by
		}
		for lane := range f.first {
			if again := f.again[lane]; again > 0 && again != through {
				f.again[lane] = again + by
			}
		}
	}
	shift := func(q *questions) {
		if q != nil && q.ends > 0 {
			q.ends += by
		}
	}
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			t := &list[i]
			shift(t.asked)
			if t.each == nil {
				continue
			}
			for _, i := range sortedQuestions(t.each.asking) {
				shift(t.each.asking[i])
			}
			for _, i := range sortedElements(t.each.running) {
				shift(t.each.running[i].asked)
			}
		}
	}
}

// renewTimeout goes on with what was left of the run's time when it last counted. A
// timeout given with the resume begins anew.
func (s *State) renewTimeout(e *Event, before int64) {
	left := s.limits.Timeout
	if left <= 0 {
		return
	}
	if given := e.Run != nil && e.Run.Timeout > 0; !given && s.deadline > 0 && before > 0 {
		left = time.Duration(max(0, s.deadline-before))
	}
	s.deadline = s.now + int64(left)
	s.command(Command{Kind: StartTimer, Timer: RunTimer, For: left})
}

// reissueBranchTimers goes on with what is left of the time of the branches.
func (p *Plan) reissueBranchTimers(s *State) {
	s.eachBranch(func(at place) {
		s.command(Command{Kind: StartTimer, Timer: BranchTimer, Task: p.laneID(at), For: s.remaining(s.laneUntil(at))})
	})
}

// limitOver acts on limits of time that were over before what the run waited for
// came. It reports whether the run ends.
func (p *Plan) limitOver(s *State) bool {
	if s.deadline > 0 && s.deadline <= s.now {
		p.outOfTime(s)
		return true
	}
	var over []place
	s.eachBranch(func(at place) {
		if s.laneUntil(at) <= s.now {
			over = append(over, at)
		}
	})
	for _, at := range over {
		p.branchTimedOut(s, p.laneID(at))
	}
	return !s.live
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

// timeoutOf is the timeout of one attempt of a node; 0: none.
func (p *Plan) timeoutOf(node int) time.Duration {
	if d := p.nodes[node].timeout; d > 0 {
		return d
	}
	return p.limits.NodeTimeout
}

func (p *Plan) visitLimit(n *node) int {
	if n.maxVisits > 0 {
		return n.maxVisits
	}
	return p.limits.MaxVisits
}

func (p *Plan) visitLimitHit(s *State, t *task, limit int) {
	n := &p.nodes[t.node]
	if n.skips {
		s.Steps++
		s.progress()
		t.step, t.skipped = s.Steps, true
		t.visit = t.memory.visits
		t.status, t.order = succeeded, s.nextOrder()
		s.noteCompleted(t)
		return
	}
	s.refused++
	t.failure = &Failure{
		Kind: "max_visits", Node: n.id,
		Message: "node has been visited " + plural(limit, "time") + ", its limit",
	}
	t.status, t.order = failed, s.nextOrder()
	s.noteFailed(t)
}

// maxBarren is how many times in a row a superstep may close, or an attempt that
// has run before may run again, without a step, a new attempt or an answer. Nothing
// in a graph needs as many: more is an error in graphrun, and a run must not fill
// its journal with it.
const maxBarren = 1000

// barren counts one round without progress.
func (s *State) barren() { s.rounds++ }

// progress notes that the run got somewhere.
func (s *State) progress() { s.rounds = 0 }

// goesRound reports whether a run makes no progress.
func (s *State) goesRound() bool {
	return s.rounds > maxBarren && s.closing == nil && s.final == nil
}

// endRounds ends a run that makes no progress.
func (p *Plan) endRounds(s *State) {
	var nodes []string
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			if id := p.nodes[list[i].node].id; !slices.Contains(nodes, id) {
				nodes = append(nodes, id)
			}
		}
	}
	s.rounds = 0
	p.end(s, ending{status: Failed, reason: "node_failed", failure: &Failure{
		Kind: "internal",
		Message: "the run went round " + plural(maxBarren, "time") + " at " + strings.Join(nodes, ", ") +
			" without a step, a new attempt or an answer: this is an error in graphrun, please report it",
	}})
}

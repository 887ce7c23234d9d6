// What a branch that fails, or runs out of time (parallel.branch_timeout), does to the
// others of its fan-out (GraphSpec §7).

package machine

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// policyOf is what a failing branch of a node's fan-out does.
func (p *Plan) policyOf(node int) string {
	if own := p.Graph.Nodes[node].Parallel; own != nil && own.OnFailure != "" {
		return own.OnFailure
	}
	return p.Graph.Parallel.OnFailure
}

// joinsOf says how the branches of a node's fan-out join: explicit or auto.
func (p *Plan) joinsOf(node int) string {
	if own := p.Graph.Nodes[node].Parallel; own != nil && own.Join != "" {
		return own.Join
	}
	return p.Graph.Parallel.Join
}

// branchFailed applies the failure policy to a branch that has failed, as the
// order-th of all that finished. hasToken says that its token is still counted. It
// returns how the run ends, if it does.
func (p *Plan) branchFailed(s *State, at place, failure *Failure, order int, hasToken bool) *ending {
	for {
		f := at.fan
		switch {
		case f == nil:
			return propagate(failure)
		case at.dead():
			return nil
		case f.policy == "continue_others" || f.policy == "wait_all":
			if hasToken {
				at.add(-1)
			}
			s.degraded = true
			p.forgive(s, at, failure)
			f.failures = append(f.failures, lostBranch{failure: failure, lane: at.lane, order: order})
			if f = f.failedWhole(); f == nil {
				return nil
			}
			first := p.exhausted(s, f)
			if first == nil {
				return nil
			}
			failure, order = first.failure, first.order
		default:
			s.kill(f)
		}
		at, hasToken = f.at, false
	}
}

// failedWhole is the fan-out of which nothing is left and nothing has come through:
// this one or, when it is over, one around it whose last branch it was; nil when
// there is none.
func (f *fanout) failedWhole() *fanout {
	for ; f != nil && f.live == 0 && !f.dead; f = f.at.fan {
		if !f.ended && len(f.failures) > 0 {
			return f
		}
	}
	return nil
}

// exhausted is what a fan-out has failed with when all branches that did not end by
// themselves have failed: the error of the one declared first, the first of these,
// whichever was the last. Under wait_all its join is told their errors, like an
// arrival. Nil says that the failure goes no further.
func (p *Plan) exhausted(s *State, f *fanout) *lostBranch {
	if f.live > 0 || f.ended {
		return nil
	}
	f.dead = true
	if f.policy == "wait_all" {
		node := f.auto
		if node == noNode {
			node = p.meeting(f, true)
		}
		if node != noNode {
			f.at.add(1)
			auto := f
			if p.nodes[node].join != 0 {
				auto = nil
			}
			s.arrive(node, auto, arrival{at: f.at, source: noNode, over: f, thread: f.thread})
			return nil
		}
	}
	first := slices.MinFunc(f.failures, func(a, b lostBranch) int { return cmp.Or(a.lane-b.lane, a.order-b.order) })
	return &first
}

// branchFailed is why tasks are cancelled that a failure makes useless.
const branchFailed = "a parallel branch failed"

// kill ends every token of a fan-out. Running tasks are cancelled; they are
// dropped when they have ended.
func (s *State) kill(f *fanout) {
	s.removeTokens(branchFailed, func(_ int, at place) bool { return at.within(f) })
	for i := range s.tasks {
		if t := &s.tasks[i]; t.at.within(f) {
			s.cancel(t, branchFailed)
		}
	}
	f.at.add(-f.live)
	f.live, f.dead = 0, true
}

// cancel stops a task of the open superstep that is not wanted any more.
func (s *State) cancel(t *task, why string) {
	if t.each != nil && (t.status == ready || t.status == running) {
		if t.cause == nil {
			t.cause, t.lost = &Failure{Kind: "cancelled", Message: why}, true
			s.cancelElements(t, why)
			s.plan.eachSettle(s, t)
		}
		return
	}
	switch t.status {
	case ready:
		t.status, t.lost = dropped, true
		s.readyTasks--
		s.unstep(t)
	case running:
		if t.cause == nil {
			t.cause, t.lost = &Failure{Kind: "cancelled", Message: why}, true
			s.command(Command{Kind: CancelTask, Task: s.taskID(t)})
		}
	}
}

// settleEntered does what the failures of tasks that failed as they were entered
// make useless, when all have been: what is cancelled takes its step before.
func (p *Plan) settleEntered(s *State) {
	for i := range s.tasks {
		if t := &s.tasks[i]; t.status == failed && !p.nodes[t.node].catches() {
			s.cancelSiblings(t)
		}
	}
}

// catches reports whether an edge may take a failure of the node.
func (n *node) catches() bool { return len(n.failWhen)+len(n.failPlain)+len(n.always) > 0 }

// cancelSiblings stops the other branches at once after a failure that nothing
// can catch, as far out as fail_all goes. One that goes out of all fan-outs ends the
// run, whatever else is at work in it.
func (s *State) cancelSiblings(failed *task) {
	var out *fanout
	f := failed.at.fan
	for ; f != nil && f.policy == "fail_all"; f = f.at.fan {
		out = f
	}
	if f != nil && out == nil {
		return
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; f == nil || t.at.within(out) {
			s.cancel(t, branchFailed)
		}
	}
}

// branchTimedOut fails the branch whose timer fired, if a token on it is at work.
// One that is only held up by the other tasks of its superstep gets its time once
// more; one that waits at a join is through.
func (p *Plan) branchTimedOut(s *State, id TaskID) {
	for _, f := range s.laned {
		if f.id != id.Visit || f.dead || id.Attempt >= len(f.first) {
			continue
		}
		branch := place{f, id.Attempt}
		node, atWork, held := s.tokenOn(branch)
		if !atWork {
			if held && f.again[id.Attempt] != s.now { // else the event is a repeated one
				f.timeAgain(id.Attempt, s.now)
				s.command(Command{Kind: StartTimer, Timer: BranchTimer, Task: id, For: p.branchTimeout(f.origin)})
			}
			if !held {
				f.timeAgain(id.Attempt, through)
			}
			return
		}
		f.timeAgain(id.Attempt, through)
		failure := &Failure{
			Kind: "timeout", Node: p.targetName(node),
			Message: "branch " + p.targetName(f.first[branch.lane]) + " took longer than branch_timeout of " +
				eval.DurationText(p.branchTimeout(f.origin)),
		}
		s.removeTokens(failure.Message, func(_ int, at place) bool { return at.on(branch) })
		over := &expiry{branch: branch, failure: failure, order: s.nextOrder()}
		inStep := false
		for i := range s.tasks {
			if t := &s.tasks[i]; s.open && t.at.on(branch) {
				t.expired, inStep = over, true
				s.cancel(t, failure.Message)
			}
		}
		if !inStep {
			if how := p.branchFailed(s, branch, failure, over.order, false); how != nil {
				p.end(s, *how)
				return
			}
			p.resumeIdle(s)
			return
		}
		p.settle(s)
		return
	}
}

// through is when the time of a branch begins that has no limit any more: it is
// over, or was while the branch waited at a join.
const through = math.MaxInt64

func (f *fanout) timeAgain(lane int, from int64) {
	if f.again == nil {
		f.again = map[int]int64{}
	}
	f.again[lane] = from
}

// tokenOn looks for a token on a branch that is at work (running, about to run, or
// parked) and the node where it stands, and for one that its superstep holds up.
func (s *State) tokenOn(branch place) (node int, atWork, held bool) {
	for _, list := range [...][]task{s.tasks, s.parked} {
		for i := range list {
			t := &list[i]
			switch {
			case !t.at.on(branch):
			case t.expired != nil: // what comes of a branch in this one that is over is not known yet
				held = held || t.expired.branch != branch && t.expired.branch.on(branch)
			case t.status == dropped:
			case t.status == succeeded || t.status == failed:
				held = true
			default:
				return t.node, true, held
			}
		}
	}
	for i := range s.next {
		held = held || s.next[i].at.on(branch)
	}
	return noNode, false, held
}

// branchTimeout is the time a branch of a node's fan-out may take; 0: any.
func (p *Plan) branchTimeout(node int) time.Duration {
	if own := p.Graph.Nodes[node].Parallel; own != nil && own.BranchTimeout > 0 {
		return own.BranchTimeout
	}
	return p.Graph.Parallel.BranchTimeout
}

// laneID names a branch in the commands and events of its timer.
func (p *Plan) laneID(at place) TaskID {
	return TaskID{Node: p.nodes[at.fan.origin].id, Visit: at.fan.id, Attempt: at.lane}
}

// Branches that run out of time: parallel.branch_timeout.

package machine

import (
	"math"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// expiry is the end of a branch that ran out of time while a superstep was open.
type expiry struct {
	branch  place
	failure *Failure
	order   int // among all that finished
	settled bool
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

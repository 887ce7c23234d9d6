// Branches that fail, are cancelled, or time out (GraphSpec §7).

package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// cancelBranch cancels a task of a branch. Earlier writes of the branch stay.
func (sc *Scope) cancelBranch(t *Task, why string) {
	if !t.Done {
		for _, u := range t.Units {
			t.stopUnit(u)
		}
		if t.Begun {
			t.noteStopped(why)
		}
	}
	t.Deciding = false
	sc.dropTasks(t)
	sc.Gone = append(sc.Gone, t)
}

// propagateFailure handles a failure without a failure edge. The i-th enclosing fan-out, or an outer
// one, ends the branch if its on_failure allows that. Otherwise the scope fails.
func (sc *Scope) propagateFailure(at *Position, by *Task, failure *Failure, i int) {
	for ; i >= 0; i-- {
		f := sc.findFan(at.Place[i].Fan)
		if slices.Contains(at.Joined, f.ID) || sc.plan.nodes[f.Source].parallel.OnFailure == "fail_all" {
			continue
		}
		sc.failBranch(f, at.Place[i].Lane, by, failure)
		return
	}
	sc.endScopeByTask(by, failureEnd(failure))
}

// failBranch ends a failed branch, and the fan-out if all its branches have failed.
func (sc *Scope) failBranch(f *Fan, lane int, by *Task, failure *Failure) {
	sc.Degraded, sc.due = true, true
	for _, o := range slices.Clone(sc.Tasks) {
		if o == by || o.isOnBranch(f.ID, lane) {
			sc.cancelBranch(o, "its branch failed")
		}
	}
	by.Lost = failure
	f.Branch[lane].Failed, f.Branch[lane].By = failure, by.ID
	if slices.ContainsFunc(f.Branch, func(b Branch) bool { return b.Failed == nil }) {
		return
	}
	if sc.plan.nodes[f.Source].parallel.OnFailure == "wait_all" && sc.joinWithErrors(f) {
		return
	}
	first := f.Branch[0]
	task := cmp.Or(findFirst(sc.Gone, func(g *Task) bool { return g.ID == first.By }), by)
	sc.propagateFailure(f.Position, task, first.Failed, len(f.Place)-1)
}

// joinWithErrors runs a join with the errors of a fan-out whose branches all failed. It returns false
// if no join is reachable from every branch.
func (sc *Scope) joinWithErrors(f *Fan) bool {
	for node := range sc.plan.nodes {
		if !sc.plan.nodes[node].joins && f.Implicit != node ||
			slices.ContainsFunc(f.Branch, func(b Branch) bool {
				return b.First != node && (b.First < 0 || !sc.canReach(b.First, node, f.Source))
			}) {
			continue
		}
		if len(sc.failedBranches(f, node)) == 0 {
			continue
		}
		t := sc.newTaskAtSplit(f, node)
		t.Carries, t.Waits = f.ID, true
		t.Inputs, t.Branches = nil, nil
		sc.addTask(t)
		return true
	}
	return false
}

// failedBranches returns the failed tasks of a fan-out that could have reached a node.
func (sc *Scope) failedBranches(f *Fan, node int) []*Task {
	return slices.DeleteFunc(slices.Clone(sc.Gone), func(g *Task) bool {
		return findLane(g.Place, f.ID) < 0 || g.Lost == nil || !sc.canReach(g.Node, node, f.Source)
	})
}

// switchBranchTimers starts or stops branch_timeout for branches with active tasks.
func (sc *Scope) switchBranchTimers(kind CommandKind, f *Fan) {
	d := sc.plan.nodes[f.Source].parallel.BranchTimeout
	if d == 0 {
		return
	}
	for lane := range f.Branch {
		if sc.findActiveTask(f, lane) != nil {
			left := d - time.Duration(sc.state.Active-f.Began)
			sc.state.addCommand(Command{Kind: kind, Timer: BranchTimer, Fan: f.ID, Lane: lane, For: left})
		}
	}
}

// findActiveTask returns a running or ready task of a branch, or nil.
func (sc *Scope) findActiveTask(f *Fan, lane int) *Task {
	return findFirst(sc.Tasks, func(t *Task) bool { return !t.Waits && t.isOnBranch(f.ID, lane) })
}

func (s *State) endTimedOutBranch(fan, lane int) {
	for _, sc := range s.Scopes {
		f := sc.findFan(fan)
		if f == nil || sc.End != nil || lane >= len(f.Branch) {
			continue
		}
		t := sc.findActiveTask(f, lane)
		if t == nil {
			return
		}
		failure := &Failure{
			Kind: "timeout", Node: sc.plan.nodes[t.Node].id,
			Message: "branch " + sc.plan.targetName(f.Branch[lane].First) + " took longer than branch_timeout of " +
				eval.DurationText(sc.plan.nodes[f.Source].parallel.BranchTimeout),
		}
		at := slices.IndexFunc(t.Place, func(l Lane) bool { return l.Fan == f.ID })
		sc.propagateFailure(t.Position, t, failure, at)
		return
	}
}

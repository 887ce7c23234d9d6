// Limits of time, steps and size (GraphSpec §2). The time of a run counts only while it is
// at work or waits for a moment, not while it waits for people or has no driver.

package machine

import (
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// timeLeft is what is left of limits.timeout; ok: there is such a limit.
func (sc *Scope) timeLeft() (left time.Duration, ok bool) {
	limit := sc.limits.Timeout
	if limit <= 0 || sc.End != nil {
		return 0, false
	}
	return max(0, limit-time.Duration(sc.state.Active-sc.Since)), true
}

// startClocks starts the timers of active time: those of scopes and branches.
func (s *State) startClocks() {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok {
			s.command(Command{Kind: StartTimer, Timer: RunTimer, Task: TaskID{Task: sc.Owner.Task, Element: sc.Owner.Element}, For: left})
		}
		for _, f := range sc.Fans {
			sc.startBranchTimers(f)
		}
	}
}

// stopClocks stops them.
func (s *State) stopClocks() {
	for _, sc := range s.Scopes {
		if _, ok := sc.timeLeft(); ok {
			s.command(Command{Kind: StopTimer, Timer: RunTimer, Task: TaskID{Task: sc.Owner.Task, Element: sc.Owner.Element}})
		}
		for _, f := range sc.Fans {
			if sc.plan.branchTimeout(f.Source) == 0 {
				continue
			}
			for lane := range f.Branch {
				s.command(Command{Kind: StopTimer, Timer: BranchTimer, Fan: f.ID, Lane: lane})
			}
		}
	}
}

// outOfTime ends the scope that took longer than its timeout; owner is the task that it
// belongs to.
func (s *State) outOfTime(owner int) {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok && left == 0 && sc.Owner.Task == owner {
			sc.end(Limit, "timeout", &Failure{
				Kind: "timeout", Message: "the run took longer than its timeout of " + eval.DurationText(sc.limits.Timeout),
			})
			return
		}
	}
}

// attemptTimedOut cancels an attempt; it fails when it has ended.
func (t *Task) attemptTimedOut(u *Unit) {
	n := &t.scope.plan.nodes[t.Node]
	t.timeOut(u, "attempt took longer than its timeout of "+eval.DurationText(t.timeout(n)))
}

func (t *Task) timeOut(u *Unit, message string) {
	if u.State != running || u.Cause != nil {
		return
	}
	failure := &Failure{Kind: "timeout", Message: message}
	if u.Scope != 0 { // a subgraph stops at once
		if inner := t.scope.state.scope(u.Scope); inner != nil {
			inner.discard()
		}
		u.Scope = 0
		t.endAttempt(u, nil, failure)
		return
	}
	u.Cause = failure
	t.scope.state.command(Command{Kind: CancelTask, Task: t.id(u)})
}

// stepTimedOut fails a step whose step_timeout is over; it is not retried.
func (t *Task) stepTimedOut() {
	if t.Done || !t.Begun {
		return
	}
	message := "the step took longer than step_timeout of " + eval.DurationText(t.scope.limits.StepTimeout)
	t.Late = true
	attempt := t.attempt()
	for _, u := range t.Units {
		if t.Each == nil && u.State == running && u.Scope == 0 {
			if u.Cause == nil {
				t.timeOut(u, message)
			}
			return
		}
		t.stop(u)
	}
	t.failFinal(&Failure{Kind: "timeout", Message: message}, attempt)
}

// outOfSteps is the end at max_steps.
func (sc *Scope) outOfSteps() {
	switch on := sc.limits.OnMaxSteps; on {
	case "return_last", "flag":
		sc.Degraded = true
		output, _ := sc.output(true)
		sc.endAs(End{Status: Completed, Reason: "max_steps", Output: output, Limited: on == "flag"})
	default:
		sc.end(Limit, "max_steps", &Failure{Kind: "limit", Message: "the limit of " + plural(sc.limits.MaxSteps, "step") + " is reached"})
	}
}

// oversize is the failure of a state that takes more than max_state_bytes; nil: it does
// not.
func (sc *Scope) oversize(v *View) *Failure {
	if v.Size <= sc.stateBytes() {
		return nil
	}
	return &Failure{Kind: "limit", Message: "the state takes more than max_state_bytes (" + strconv.Itoa(sc.stateBytes()) + ")"}
}

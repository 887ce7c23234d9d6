// Limits of time, steps and size (GraphSpec §2). The time of a run counts while it works or waits for
// time, but not while it waits for people or has no driver.

package machine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// timeLeft returns what remains of limits.timeout, which may be negative. ok is false without a limit.
func (sc *Scope) timeLeft() (left time.Duration, ok bool) {
	limit := sc.limits.Timeout
	if limit <= 0 || sc.End != nil {
		return 0, false
	}
	return limit - time.Duration(sc.state.Active-sc.Since), true
}

// switchClockTimers starts or stops the timers that count working time.
func (s *State) switchClockTimers(kind CommandKind) {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok {
			s.addCommand(Command{Kind: kind, Timer: RunTimer, Task: TaskID{Task: sc.Owner.Task, Element: sc.Owner.Element}, For: left})
		}
		for _, f := range sc.Fans {
			sc.switchBranchTimers(kind, f)
		}
	}
}

// endTimedOutScope ends a scope after limits.timeout. owner is the task that runs it.
func (s *State) endTimedOutScope(owner int) {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok && left <= 0 && sc.Owner.Task == owner {
			sc.endScope(&End{Status: Limit, Reason: "timeout", Failure: &Failure{
				Kind: "timeout", Message: "the run took longer than its timeout of " + eval.DurationText(sc.limits.Timeout),
			}})
			return
		}
	}
}

// cancelTimedOutUnit cancels a unit that took too long. It fails once its attempt has ended.
func (t *Task) cancelTimedOutUnit(u *Unit, message string) {
	if u.State != running || u.Cause != nil {
		return
	}
	failure := &Failure{Kind: "timeout", Message: message}
	if u.runsGraph() { // a graph stops at once
		t.scope.state.byID[u.findCall(0).Scope].discardScope()
		u.Called = nil
		t.endAttempt(u, nil, failure)
		return
	}
	u.Cause = failure
	t.scope.state.addCommand(Command{Kind: CancelTask, Task: t.attemptID(u)})
}

// failTimedOutStep fails a step after step_timeout. It is not retried.
func (t *Task) failTimedOutStep() {
	if t.Done || !t.Begun {
		return
	}
	message := "the step took longer than step_timeout of " + eval.DurationText(t.scope.limits.StepTimeout)
	t.Late = true
	for _, u := range t.Units {
		if t.Each == nil && u.State == running && !u.runsGraph() {
			if u.Cause == nil {
				t.cancelTimedOutUnit(u, message)
			}
			return
		}
		t.stopUnit(u)
	}
	t.failStep(&Failure{Kind: "timeout", Message: message})
}

func (sc *Scope) endAtStepLimit() {
	switch on := sc.limits.OnMaxSteps; on {
	case "return_last", "flag":
		sc.Degraded = true
		output, _ := sc.evalOutput(true)
		sc.endScope(&End{Status: Completed, Reason: "max_steps", Output: output, Limited: on == "flag"})
	default:
		sc.endScope(&End{Status: Limit, Reason: "max_steps", Failure: &Failure{
			Kind: "loop_limit", Message: "the run has taken " + eval.Count(sc.limits.MaxSteps, "step") + ", its limit (max_steps)",
		}})
	}
}

// checkStateSize returns a failure if some writes exceed max_state_bytes.
func (sc *Scope) checkStateSize(v *View, writes []Write) *Failure {
	if v.Size <= sc.maxBytes {
		return nil
	}
	message := "the state would take more than " + eval.Count(sc.maxBytes, "byte") + ", its limit (max_state_bytes)"
	var names []string
	for i := range writes {
		names = append(names, strconv.Quote(sc.plan.keys[writes[i].Key].name))
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		message += ", with what the node writes to " + strings.Join(names, " and ")
	}
	return &Failure{Kind: "limit", Message: message}
}

// endAtSizeLimit ends the scope whose max_state_bytes is exceeded by the writes of t, which may be nil.
func (sc *Scope) endAtSizeLimit(t *Task, failure *Failure) {
	if sc.End != nil {
		return
	}
	if sc.Culprit = 0; t != nil {
		sc.Culprit = t.ID
	}
	_, owner := sc.sizeLimit()
	owner.endScope(failureEnd(failure))
}

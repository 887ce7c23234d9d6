// Trying again: which policy applies to a failure, and how long it waits (§4).

package machine

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// defaultRetry is the policy without a retry block, for failures that may pass by
// themselves.
func defaultRetry() spec.Retry {
	return spec.Retry{MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1}
}

// policy is the retry policy that applies to a failure, and its place in the node's list;
// MaxAttempts is 1 when it is not to be tried again.
func (t *Task) policy(n *node, failure *Failure) (r spec.Retry, block int) {
	once := spec.Retry{MaxAttempts: 1}
	if n.kind == "agent" {
		return once, 0
	}
	switch failure.Kind {
	case "cancelled", "expression", "conflict", "invalid_input", "max_visits", "bypassed", "budget", "limit":
		return once, 0
	case "invalid_output":
		if n.asksAgain {
			return once, 0
		}
	}
	// An answer that was refused, filtered or cut is hardly another the next time: it is
	// asked for again where a block names the kind.
	named := slices.Contains([]string{"refused", "filtered", "truncated"}, failure.Kind)
	for i := range n.retry {
		if n.retry[i].Takes(failure.Kind) && (!named || len(n.retry[i].On) > 0) && t.retryHolds(n, i, failure) {
			return n.retry[i], i
		}
	}
	if n.retry == nil && mayPass(n.kind, failure) {
		return defaultRetry(), 0
	}
	return once, 0
}

// retryHolds reports whether the `when` of a retry block holds for a failure.
func (t *Task) retryHolds(n *node, block int, failure *Failure) bool {
	if block >= len(n.retryWhen) || n.retryWhen[block] == nil {
		return true
	}
	holds, err := t.scope.state.vm.Test(n.retryWhen[block], map[string]any{"error": failureData(failure)})
	return err == nil && holds
}

// mayPass reports whether a failure is one that may pass by itself.
func mayPass(kind string, failure *Failure) bool {
	switch failure.Kind {
	case "rate_limited", "network", "overloaded":
		return !failure.Final()
	case "timeout":
		return kind == "http" || kind == "llm"
	case "http_status":
		status, _ := failure.Details["status"].(int)
		return status >= 500
	}
	return false
}

// RetryNote says how an execution will be tried again.
type RetryNote struct {
	MaxAttempts int
	Delay       time.Duration
	// Asked is the delay that the other side asked for, if it is longer than the policy
	// allows; else 0.
	Asked time.Duration
}

// retryDelay is the exponential backoff before the next attempt, with jitter derived from
// the task's identity, so that a replay waits the same time. Each block of a retry list
// counts its own failures. A delay that the other side asks for makes it longer, as far as
// patience goes.
func (t *Task) retryDelay(u *Unit, n *node, failure *Failure) (time.Duration, RetryNote, bool) {
	var note RetryNote
	r, block := t.policy(n, failure)
	for len(u.Tried) <= block {
		u.Tried = append(u.Tried, 0)
	}
	used := u.Tried[block]
	note.MaxAttempts = u.Attempt + max(0, r.MaxAttempts-1-used)
	if used+1 >= r.MaxAttempts || t.Final && t.scope.state.Grace == graceOver {
		return 0, note, false
	}
	u.Tried[block]++
	wait := min(float64(r.InitialInterval), float64(r.MaxInterval))
	for range used {
		wait = min(wait*r.Backoff, float64(r.MaxInterval))
	}
	h := fnv.New64a()
	h.Write([]byte(strconv.Itoa(u.Attempt) + t.key(u.Element-1)))
	unit := float64(h.Sum64()>>11) / (1 << 53)
	wait *= 1 + r.Jitter*(2*unit-1)
	asked := time.Duration(failure.RetryAfter) * time.Millisecond
	if most := patience(&r); asked > most {
		note.Asked, asked = asked, most
	}
	note.Delay = max(time.Duration(wait), asked)
	if left, ok := t.scope.timeLeft(); ok {
		note.Delay = min(note.Delay, left)
	}
	return note.Delay, note, true
}

// MaxAskedDelay is the longest delay that the other side may ask for where no
// max_interval is set.
const MaxAskedDelay = 10 * time.Minute

// patience is the longest delay before another attempt that the other side may ask for: a
// server must not keep a run for a day.
func patience(r *spec.Retry) time.Duration {
	if r.HasMaxInterval {
		return r.MaxInterval
	}
	return MaxAskedDelay
}

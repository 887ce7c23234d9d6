// Retries: which policy applies to a failure, and the delay before the next attempt (§4).

package machine

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// defaultRetry is the policy for transient failures of nodes without a retry block.
var defaultRetry = spec.Retry{MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1}

// retryPolicy returns the policy for a failure and its block. Without a retry, MaxAttempts is 1.
func (t *Task) retryPolicy(n *node, failure *Failure) (r spec.Retry, block int) {
	once := spec.Retry{MaxAttempts: 1}
	if n.kind == "agent" || n.act == actFail {
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
	// A refused, filtered or cut answer rarely changes: only a block that names the kind retries it.
	named := slices.Contains([]string{"refused", "filtered", "truncated"}, failure.Kind)
	for i := range n.retry {
		if n.retry[i].Takes(failure.Kind) && (!named || len(n.retry[i].On) > 0) && t.retryHolds(n, i, failure) {
			return n.retry[i], i
		}
	}
	if n.retry == nil && isTransient(n.kind, failure) {
		return defaultRetry, 0
	}
	return once, 0
}

// retryHolds reports whether the `when` of a retry block holds for a failure.
func (t *Task) retryHolds(n *node, block int, failure *Failure) bool {
	if block >= len(n.bound.RetryWhen) || n.bound.RetryWhen[block] == nil {
		return true
	}
	holds, err := t.scope.state.vm.Test(n.bound.RetryWhen[block], map[string]any{"error": failureData(failure)})
	return err == nil && holds
}

// isTransient reports whether a failure may disappear without a change.
func isTransient(kind string, failure *Failure) bool {
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

// RetryNote describes the next attempt of a step.
type RetryNote struct {
	MaxAttempts int
	Delay       time.Duration
	// Asked is the delay that the other side asked for, if the policy does not allow it.
	Asked time.Duration
}

// retryDelay returns the delay before the next attempt, and whether there is one. The jitter
// derives from the task's identity, so that replays agree.
func (t *Task) retryDelay(u *Unit, n *node, failure *Failure) (time.Duration, RetryNote, bool) {
	var note RetryNote
	r, block := t.retryPolicy(n, failure)
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
	h.Write([]byte(strconv.Itoa(u.Attempt) + t.idempotencyKey(u.Element-1)))
	unit := float64(h.Sum64()>>11) / (1 << 53)
	wait *= 1 + r.Jitter*(2*unit-1)
	asked := time.Duration(failure.RetryAfter) * time.Millisecond
	most := MaxAskedDelay
	if r.HasMaxInterval {
		most = r.MaxInterval
	}
	if asked > most {
		note.Asked, asked = asked, most
	}
	note.Delay = max(time.Duration(wait), asked)
	if left, ok := t.scope.timeLeft(); ok {
		note.Delay = min(note.Delay, left)
	}
	return note.Delay, note, true
}

// MaxAskedDelay is the longest delay that a server may ask for without a max_interval.
const MaxAskedDelay = 10 * time.Minute

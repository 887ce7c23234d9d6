// Trying again: which policy applies to a failure, and how long it waits.

package machine

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// defaultRetry is the policy without a retry block, for failures that may pass
// by themselves.
func defaultRetry() spec.Retry {
	return spec.Retry{
		MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1,
	}
}

// triedBy counts the retries of a task, or of an element of its `each` (-1: no
// element), by the block of its retry list that they came from.
type triedBy struct{ element, block int }

// policy is the retry policy that applies to a failure, and its place in the
// node's list; MaxAttempts is 1 when it is not to be tried again.
func (p *Plan) policy(s *State, t *task, failure *Failure) (r spec.Retry, block int) {
	once := spec.Retry{MaxAttempts: 1}
	n := &p.nodes[t.node]
	if n.act != actRun || n.kind == "agent" {
		return once, 0
	}
	switch failure.Kind {
	case "cancelled", "expression", "conflict", "invalid_input", "max_visits", "budget", "limit":
		return once, 0
	case "invalid_output":
		if n.asksAgain {
			return once, 0
		}
	}
	// An answer that was refused, filtered or cut is hardly another the next
	// time: it is asked for again where a block names the kind.
	named := slices.Contains([]string{"refused", "filtered", "truncated"}, failure.Kind)
	for i := range n.retry {
		if n.retry[i].Takes(failure.Kind) && (!named || len(n.retry[i].On) > 0) && n.retryHolds(s, i, failure) {
			return n.retry[i], i
		}
	}
	if n.retry == nil && mayPass(n.kind, failure) {
		return defaultRetry(), 0
	}
	return once, 0
}

// retryHolds reports whether the condition of a retry block holds for a failure. A condition
// that fails to evaluate does not hold.
func (n *node) retryHolds(s *State, block int, failure *Failure) bool {
	if block >= len(n.retryWhen) || n.retryWhen[block] == nil {
		return true
	}
	holds, err := s.vm.Test(n.retryWhen[block], map[string]any{"error": failureData(failure)})
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

// retryDelay is the exponential backoff before the next attempt, with jitter
// derived from the task's identity, so that a replay waits the same time. Each
// block of a retry list counts its own failures; MaxAttempts is how many there will
// have been if all others that come are of the same kind. A delay that the other
// side asks for makes it longer, as far as patience goes.
func (p *Plan) retryDelay(s *State, t *task, element, attempt int, failure *Failure) (next RetryNote, again bool) {
	r, block := p.policy(s, t, failure)
	used, by := attempt-1, triedBy{element, block}
	isList := len(p.nodes[t.node].retry) > 1
	if isList {
		used = t.tried[by]
	}
	next.MaxAttempts = attempt + max(0, r.MaxAttempts-1-used)
	if used+1 >= r.MaxAttempts || s.closing != nil || s.final != nil && s.final.over {
		return next, false
	}
	if isList {
		if t.tried == nil {
			t.tried = map[triedBy]int{}
		}
		t.tried[by]++
	}
	wait := min(float64(r.InitialInterval), float64(r.MaxInterval))
	for range used {
		wait = min(wait*r.Backoff, float64(r.MaxInterval))
	}
	h := fnv.New64a()
	h.Write([]byte(strconv.Itoa(attempt) + s.idempotencyKey(p.nodes[t.node].id, t.visit, element)))
	unit := float64(h.Sum64()>>11) / (1 << 53)
	wait *= 1 + r.Jitter*(2*unit-1)
	asked := time.Duration(failure.RetryAfter) * time.Millisecond
	if most := patience(&r); asked > most {
		next.Asked, asked = asked, most
	}
	next.Delay = max(time.Duration(wait), asked)
	if s.deadline > 0 {
		next.Delay = min(next.Delay, time.Duration(max(0, s.deadline-s.now)))
	}
	return next, true
}

// MaxAskedDelay is the longest delay that the other side may ask for where no
// max_interval is set.
const MaxAskedDelay = 10 * time.Minute

// patience is the longest delay before another attempt that the other side may
// ask for: a server must not keep a run for a day.
func patience(r *spec.Retry) time.Duration {
	if r.HasMaxInterval {
		return r.MaxInterval
	}
	return MaxAskedDelay
}

// forgetTried gives a task, or an element of it, all attempts of its retry list
// again.
func (t *task) forgetTried(element, blocks int) {
	for block := range blocks {
		delete(t.tried, triedBy{element, block})
	}
}

// sortedTried lists what a task has tried, by element and block.
func (t *task) sortedTried() []triedBy {
	out := make([]triedBy, 0, len(t.tried))
	for by := range t.tried { //lint:ignore mapiter sorted below
		out = append(out, by)
	}
	slices.SortFunc(out, func(a, b triedBy) int {
		if a.element != b.element {
			return a.element - b.element
		}
		return a.block - b.block
	})
	return out
}

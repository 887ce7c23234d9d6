// Failures, and retries of attempts (§4).

package machine

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// defaultRetry is the policy for transient failures of nodes without a retry block.
var defaultRetry = spec.Retry{MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1}

// retryPolicy returns the retry policy for a failure, and its block. Without a retry, MaxAttempts is 1.
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
	// A refused, filtered or cut answer rarely changes, so only a block that names its kind retries it.
	named := slices.Contains([]string{"refused", "filtered", "truncated"}, failure.Kind)
	for i := range n.retry {
		if n.retry[i].AppliesTo(failure.Kind) && (!named || len(n.retry[i].On) > 0) && t.matchesRetry(n, i, failure) {
			return n.retry[i], i
		}
	}
	if n.retry == nil && isTransient(n.kind, failure) {
		return defaultRetry, 0
	}
	return once, 0
}

// matchesRetry reports whether the `when` of a retry block is true for a failure.
func (t *Task) matchesRetry(n *node, block int, failure *Failure) bool {
	if block >= len(n.bound.RetryWhen) || n.bound.RetryWhen[block] == nil {
		return true
	}
	holds, err := t.scope.state.vm.Test(n.bound.RetryWhen[block], map[string]any{"error": failureData(failure)})
	return err == nil && holds
}

// isTransient reports whether another attempt may succeed without a change.
func isTransient(kind string, failure *Failure) bool {
	switch failure.Kind {
	case "rate_limited", "network", "overloaded":
		return !failure.IsFinal()
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
	// Asked is the delay that the server asked for, if the policy does not allow it.
	Asked time.Duration
}

// retryDelay returns the delay before the next attempt, and whether there is one. The jitter derives
// from the task's identity, so that replays give the same delay.
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

// MaxAskedDelay is the longest delay that a server may request without a max_interval.
const MaxAskedDelay = 10 * time.Minute

// Failure is the error of a node, an edge or a run.
type Failure struct {
	// Kind is one of the failure kinds of the language (GraphSpec §4).
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"`
	// Attempt counts from 1; 0 means that no attempt was made.
	Attempt int            `json:"attempt,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	// Edge is the index of the edge whose expression failed.
	Edge *int `json:"edge,omitempty"`
	// Candidates and OutputPreview belong to stuck runs.
	Candidates    []Candidate `json:"candidates,omitempty"`
	OutputPreview string      `json:"output_preview,omitempty"`
	// Above counts the graphs between the failure and the outer graph that set the limit.
	Above int `json:"above,omitempty"`
	// RetryAfter is the delay in milliseconds that the server asked for, or 0.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// expressionFailure returns the failure of an expression. place is the prefix of the message.
func expressionFailure(place string, err error) *Failure {
	return &Failure{Kind: "expression", Message: place + err.Error()}
}

// IsFinal reports whether the server asked for no further attempt.
func (f *Failure) IsFinal() bool {
	again, said := f.Details["should_retry"].(bool)
	return said && !again
}

// Error returns the node, the kind and the message.
func (f *Failure) Error() string {
	if f.Node == "" {
		return f.Kind + ": " + f.Message
	}
	return "node " + f.Node + ": " + f.Kind + ": " + f.Message
}

// MarshalJSON writes null for the node, attempt and details that a failure lacks.
func (f Failure) MarshalJSON() ([]byte, error) {
	type rest Failure // without this method
	return eval.AppendJSON(nil, struct {
		Kind    string         `json:"kind"`
		Message string         `json:"message"`
		Node    *string        `json:"node"`
		Attempt *int           `json:"attempt"`
		Details map[string]any `json:"details"`
		rest
	}{f.Kind, f.Message, pointerOrNil(f.Node), pointerOrNil(f.Attempt), f.Details, rest(f)})
}

// pointerOrNil returns a pointer to a value, or nil for the zero value.
func pointerOrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

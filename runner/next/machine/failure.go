// What a failed node says.

package machine

import (
	"bytes"
	"encoding/json"
)

// Failure is the error of a node, an edge or a run.
type Failure struct {
	// Kind is one of the failure kinds of the language: exit_status, timeout,
	// http_status, llm, rate_limited, bypassed, network, overloaded, auth,
	// invalid_output, invalid_input, tool, escalated, loop_limit, max_visits,
	// budget, limit, policy, failed, expression, conflict, child_failed, cancelled,
	// refused, filtered, truncated, internal.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"`
	// Attempt counts from 1; 0 when no attempt was made.
	Attempt int            `json:"attempt,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	// Edge is the index of the edge whose expression failed.
	Edge *int `json:"edge,omitempty"`
	// Candidates and OutputPreview belong to stuck runs.
	Candidates    []Candidate `json:"candidates,omitempty"`
	OutputPreview string      `json:"output_preview,omitempty"`
	// Above says that the failure is of a limit of a run around the one that it
	// happened in: 1 of the next. It fails the nodes between them with its own kind.
	Above int `json:"above,omitempty"`
	// RetryAfter is the least delay in milliseconds before another attempt
	// that the other side asked for; 0 when it did not.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// Final reports whether the other side asked not to be asked again.
func (f *Failure) Final() bool {
	again, said := f.Details["should_retry"].(bool)
	return said && !again
}

// Error makes a Failure an error.
func (f *Failure) Error() string {
	if f.Node == "" {
		return f.Kind + ": " + f.Message
	}
	return "node " + f.Node + ": " + f.Kind + ": " + f.Message
}

// MarshalJSON prints the fields that every error has, null where there is nothing
// to say: those who read it need not ask which are there.
func (f Failure) MarshalJSON() ([]byte, error) {
	type rest Failure // without this method
	out := struct {
		Kind    string         `json:"kind"`
		Message string         `json:"message"`
		Node    *string        `json:"node"`
		Attempt *int           `json:"attempt"`
		Details map[string]any `json:"details"`
		rest
	}{Kind: f.Kind, Message: f.Message, Details: f.Details, rest: rest(f)}
	if f.Node != "" {
		out.Node = &f.Node
	}
	if f.Attempt > 0 {
		out.Attempt = &f.Attempt
	}
	return unescaped(out)
}

// unescaped is JSON in which < and > stay readable, as in conditions.
func unescaped(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(text.Bytes(), "\n"), err
}

// Failures of nodes, edges and runs.

package machine

import "github.com/graphrun/graphrun/eval"

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
	// RetryAfter is the delay in milliseconds that the other side asked for, or 0.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// expressionFailure returns the failure of an expression at a place.
func expressionFailure(place string, err error) *Failure {
	return &Failure{Kind: "expression", Message: place + err.Error()}
}

// Final reports whether the other side asked for no further attempt.
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
	}{f.Kind, f.Message, orNil(f.Node), orNil(f.Attempt), f.Details, rest(f)})
}

// orNil returns a pointer to a value, or nil for the zero value.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

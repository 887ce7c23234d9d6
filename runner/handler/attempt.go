// Inputs and results of tasks as plain data.

package handler

import (
	"context"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Attempt is the result of one attempt of a task: an output, a failure, or open questions.
type Attempt struct {
	Output  any                `json:"output,omitempty"`
	Failure *machine.Failure   `json:"failure,omitempty"`
	Asks    []machine.Ask      `json:"asks,omitempty"`
	Talk    *machine.TalkDelta `json:"talk,omitempty"`
}

// OutputOrFailure returns the output or the failure.
func (a *Attempt) OutputOrFailure() (any, error) {
	if a.Failure != nil {
		return nil, a.Failure
	}
	return a.Output, nil
}

// NoteToolCall is the key of a note with the result of a tool call: output, is_error and other data
// that the task needs to continue. For events it also has name, args, duration_ms and perhaps id.
const NoteToolCall = "tool_call"

// MaxAskedDelay is the longest delay that a server may request without max_interval.
const MaxAskedDelay = machine.MaxAskedDelay

// Retry is a retry of a model call inside a task.
type Retry struct {
	What                 string        // the role of the model
	Attempt, MaxAttempts int           // Attempt is the failed one, from 1
	Delay                time.Duration // until the next attempt
	Error                *machine.Failure
}

// Choice is a decision between edges.
type Choice = machine.Choice

// GraphCall is a call of a graph as a tool.
type GraphCall struct {
	// File is the graph, as the file's tools name it.
	File string
	// With is the graph's input, by state key.
	With map[string]any
	// Number identifies the call in its task, also when the task runs again.
	Number int
}

type traceParent struct{}

// WithTraceParent returns a context with the W3C traceparent of a task's span.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	return context.WithValue(ctx, traceParent{}, parent)
}

// TraceParent returns the value of WithTraceParent, or "".
func TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceParent{}).(string)
	return parent
}

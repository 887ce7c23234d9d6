// Results of tasks as plain data, also of those that ran elsewhere.

package handler

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Attempt is the result of one attempt of a task: an output, a failure, or questions
// that it waits for. Its JSON can be sent to where the run is driven.
type Attempt struct {
	Output  any                `json:"output,omitempty"`
	Failure *machine.Failure   `json:"failure,omitempty"`
	Asks    []machine.Ask      `json:"asks,omitempty"`
	Talk    *machine.TalkDelta `json:"talk,omitempty"`
}

// Return returns the output of an attempt elsewhere, or its failure.
func (a *Attempt) Return() (any, error) {
	if a.Failure != nil {
		return nil, a.Failure
	}
	return a.Output, nil
}

// NoteToolCall is the key of the note (see runner.Task) in which a task keeps what a call of
// a tool came to: an object of output and is_error, of what else the task needs to go on,
// and, for the event tool_called, of name, args, duration_ms in milliseconds and, if the
// call has one, id. A note without a name is not told.
const NoteToolCall = "tool_call"

// MaxAskedDelay is the longest delay before another attempt that a server may ask
// for, where no max_interval says otherwise.
const MaxAskedDelay = machine.MaxAskedDelay

// Retry is what of a task is tried again without the executor: a call of a model.
type Retry struct {
	// What is tried: the role of the model.
	What string
	// Attempt is the one that failed, from 1, MaxAttempts how many there are at most.
	Attempt, MaxAttempts int
	Delay                time.Duration // until the next
	Error                *machine.Failure
}

// Choice is a decision between edges, as a runner.Decider sees it.
type Choice = machine.Choice

// Inputs and result of a run: the world and the options.

package referencetest

import (
	"time"
)

// StepID names a step, or one element of it, independent of timing.
type StepID struct {
	// Outer is the step of the enclosing graph node; nil in the outermost graph.
	Outer *StepID
	// Scope is the path of the enclosing graph nodes: "", "outer", "outer[2]/inner".
	Scope string
	Node  string
	// Visit counts the visits in the step's past, this one included.
	Visit int
	// Element is the index of an element of `each`, or -1.
	Element int
	// Branch is the id of the branch's first node; "" outside of fan-outs.
	Branch string
	// Rank and Order are the step's place in path order.
	Rank  int
	Order []int
	// Round is how often the attempt was interrupted and answered.
	Round int
}

// Outcome is the result of one attempt: an output, an error, or questions.
type Outcome struct {
	Output any
	Error  *Error
	// Asks are the keys of interrupts. The attempt runs again, with the next Round, after all are
	// answered.
	Asks []string
}

// Error is the failure of a node or of a run.
type Error struct {
	Kind, Message, Node string
	Attempt             int
	Details             any
}

// World decides everything that the graph does not. Its answers must depend only on the arguments. An
// attempt of a `human` node is a question with the key "".
type World interface {
	// Attempt returns the outcome of attempt n (from 1), and how long it takes.
	Attempt(step StepID, n int) (Outcome, time.Duration)
	// Answer returns a person's answer and its delay after the question; ok is false if nobody answers.
	Answer(step StepID, key string) (answer any, after time.Duration, ok bool)
	// Choose returns the decision of llm_decide; ok is false if the call fails.
	Choose(step StepID, candidates []string) (target string, ok bool)
}

// Options pause or cancel a run. The zero value does neither.
type Options struct {
	// PauseAt and CancelAt are moments of virtual time, counted from the call of Start or Resume; 0
	// means never.
	PauseAt, CancelAt time.Duration
	// StopPaused makes the run return as soon as it waits only for people, even if they would answer
	// later or a timeout would come.
	StopPaused bool
}

// View holds what the expressions of a step see when it begins.
type View struct {
	State map[string]any
	// Env holds all names: visits, nodes, history, input, inputs, branches, step, ….
	Env map[string]any
}

// StepResult is one finished step.
type StepResult struct {
	StepID
	// Outcome is "success", "failure", "skipped" or "refused". A visit that max_visits refused does not
	// count as a step and is not in Path.
	Outcome string
	Output  any
	Error   *Error
	View    View
	// Items are the elements of `each`, by index.
	Items []any
	// Final marks a node of `finally`, which is not in Path.
	Final bool
}

// Pending is a question that is open, or a breakpoint.
type Pending struct {
	StepID
	// Key is the key of an interrupt; Breakpoint is pause_before or pause_after.
	Key, Breakpoint string
}

// Result is a run as its caller sees it.
type Result struct {
	// Status is completed, failed, stuck, limit, paused or cancelled; Quality clean,
	// degraded or failed, "" while paused; Reason a limit, "policy" or an error's kind.
	Status, Quality, Reason string
	Limited                 bool
	Path                    []string
	State                   map[string]any
	Output                  any
	Error                   *Error
	Pending                 []Pending
	// Steps counts the node executions of the run, those of subgraphs included; Own
	// only those of the outermost graph.
	Steps, Own int
	// Visits counts the visits that finished; Fired counts the edges by index.
	Visits map[string]int
	Fired  map[int]int
	// Log holds the steps in path order. Inner holds the steps of subgraphs, in the order of their
	// graph nodes, without those of failed attempts.
	Log   []StepResult
	Inner map[string][]StepResult
	// Partial lists the steps that a cancellation or a limit cut off.
	Partial []StepID
	// Took is the length of the run in virtual time, Cancels how many steps or branches
	// were cancelled by joins and failures.
	Took    time.Duration
	Cancels int
	// Timed reports that the result may depend on timing.
	Timed bool
}

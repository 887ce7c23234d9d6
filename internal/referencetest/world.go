// What surrounds a run: the script of its effects, and its result.

package referencetest

import (
	"time"
)

// StepID names a step, or one element of it, independent of timing.
type StepID struct {
	// Outer is the step of the graph node around; nil in the outermost graph.
	Outer *StepID
	// Scope is the path of the graph nodes around: "", "outer", "outer[2]/inner".
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
	// Round says how often the attempt was interrupted and answered.
	Round int
}

// Outcome is what one attempt yields: an output, an error, or questions.
type Outcome struct {
	Output any
	Error  *Error
	// Asks are the keys of interrupts: the attempt runs again, with the next Round,
	// when all are answered.
	Asks []string
}

// Error is a node's failure, or that of a run.
type Error struct {
	Kind, Message, Node string
	Attempt             int
	Details             any
}

// World scripts everything that is not decided by the graph. Its answers must depend
// on the arguments only. An attempt of a `human` node is a question with the key "".
type World interface {
	// Attempt says what attempt n (from 1) yields, and how long it takes.
	Attempt(step StepID, n int) (Outcome, time.Duration)
	// Answer is what a person answers, and how long after the question; not ok: never.
	Answer(step StepID, key string) (answer any, after time.Duration, ok bool)
	// Choose is the decision of llm_decide; not ok: the call fails.
	Choose(step StepID, candidates []string) (target string, ok bool)
}

// Options disturb a run. The zero value does not.
type Options struct {
	// PauseAt and CancelAt are moments of virtual time, counted from the call of Start
	// or Resume; 0: never.
	PauseAt, CancelAt time.Duration
	// StopPaused returns as soon as only people are waited for, even if they answer
	// later or a timeout is due.
	StopPaused bool
}

// View is what the expressions of a step see when it begins.
type View struct {
	State map[string]any
	// Env holds all names: visits, nodes, history, input, inputs, branches, step, ….
	Env map[string]any
}

// StepResult is one finished step.
type StepResult struct {
	StepID
	// Outcome is "success", "failure", "skipped" or "refused": by max_visits, which is no
	// step and not in Path.
	Outcome string
	Output  any
	Error   *Error
	View    View
	// Items are the elements of `each`, by index.
	Items []any
	// Final: it is a node of finally, which is not in Path.
	Final bool
}

// Pending is a question that is open, or a breakpoint.
type Pending struct {
	StepID
	// Key is that of an interrupt; Breakpoint is pause_before or pause_after.
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
	// Log holds the steps in path order; Inner those of subgraphs, in the order of
	// their graph nodes, without the ones of attempts that failed.
	Log   []StepResult
	Inner map[string][]StepResult
	// Partial lists the steps that a cancellation or a limit cut off.
	Partial []StepID
	// Took is the length of the run in virtual time, Cancels how many steps or branches
	// were cancelled by joins and failures.
	Took    time.Duration
	Cancels int
	// Timed says that time decided something: the result may depend on timing.
	Timed bool
}

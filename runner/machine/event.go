// Events: the recorded facts that drive the machine.

package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// EventKind says what happened. The zero value is unset.
type EventKind string

// The kinds of events. A driver appends an event durably before it applies it.
const (
	// RunBegan starts the run with Input.
	RunBegan EventKind = "run_began"
	// TaskBegan records that a task with effects is about to run. It changes
	// nothing: after a crash, tasks that began and did not end run again.
	TaskBegan EventKind = "task_began"
	// TaskNoted brings, as Output, something that a running task wants to find
	// again if it is run again as the same attempt: a model's reply that is paid
	// for, an event of a subgraph. The task's log holds its notes in order.
	TaskNoted EventKind = "task_noted"
	// TaskEnded brings a task's Output, or its Failure.
	TaskEnded EventKind = "task_ended"
	// TimerFired says that a timer asked for by StartTimer ran out.
	TimerFired EventKind = "timer_fired"
	// Advanced closes the superstep: its writes, its routing, the next tasks.
	Advanced EventKind = "advanced"
	// Decided brings the target that a router chose, or its Failure.
	Decided EventKind = "decided"
	// CancelAsked stops the run: running tasks are cancelled, then it ends.
	CancelAsked EventKind = "cancel_asked"
	// PauseAsked pauses the run when the open superstep has closed. With the Reason
	// "wait" it pauses a run in which only time passes, until Due.
	PauseAsked EventKind = "pause_asked"
	// Answered brings a person's answer, as Output, to a question of Task; By says
	// who gave it.
	Answered EventKind = "answered"
	// StepsGranted brings Steps to a subgraph that asked for them by TakeSteps; fewer
	// than it asked for when a run around it, Above, has none left.
	StepsGranted EventKind = "steps_granted"
	// Resumed takes a run up again. Undo lists the events, by their place in
	// the journal from 0, that count no more: those that ended the run.
	Resumed EventKind = "resumed"
)

// Event is one recorded fact. Which fields are set depends on Kind.
type Event struct {
	Kind EventKind `json:"kind"`
	// At is when it happened: Unix time in nanoseconds, from the driver's clock.
	At int64 `json:"at,omitempty"`
	// Run identifies the run and holds its settings (RunBegan).
	Run *RunInfo `json:"run,omitempty"`
	// Input is the run's input by state key (RunBegan).
	Input map[string]any `json:"input,omitempty"`
	// Task is the task that ended, or whose timer fired, or that is decided on.
	Task TaskID `json:"task,omitzero"`
	// Timer says which timer of the task or run fired.
	Timer TimerKind `json:"timer,omitempty"`
	// Output is what a task produced (TaskEnded) or noted (TaskNoted).
	Output any `json:"output,omitempty"`
	// Anew says that the notes before this one count no more (TaskNoted).
	Anew bool `json:"anew,omitempty"`
	// Partial is what a task had produced when it was cancelled or failed.
	Partial any `json:"partial,omitempty"`
	// Reason says in a word why a task ended as it did, where it could have ended
	// in several ways (TaskEnded), why the run pauses (PauseAsked), or in a sentence why
	// somebody cancels it (CancelAsked).
	Reason string `json:"reason,omitempty"`
	// Failure says why a task or a decision failed.
	Failure *Failure `json:"failure,omitempty"`
	// Talk is what a task adds to the conversation (TaskEnded).
	Talk *TalkDelta `json:"talk,omitempty"`
	// Usage is what a call of a model came to (TaskNoted).
	Usage *Usage `json:"usage,omitempty"`
	// Cached says that the output comes from the cache.
	Cached bool `json:"cached,omitempty"`
	// Undo lists events that count no more (Resumed).
	Undo []int `json:"undo,omitempty"`
	// Clean lists decisions that are made anew although their notes are still
	// there, because they had failed: their logs are empty (Resumed).
	Clean []TaskID `json:"clean,omitempty"`
	// Revive lists the executions that the run was lost with, to go on with: their
	// attempt and element are zero (Resumed).
	Revive []TaskID `json:"revive,omitempty"`
	// Endings is how often nodes of finally have run for ends that were taken
	// back (Resumed).
	Endings int `json:"endings,omitempty"`
	// Told is the number that the driver's event stream had come to, where the
	// journal before this event does not tell; 0: it does.
	Told int64 `json:"told,omitempty"`
	// Superstep is the one to close (Advanced); 0: the one that is open.
	Superstep int `json:"superstep,omitempty"`
	// Edit holds state keys that are set by hand: in RunBegan before the first
	// node, in Advanced after the writes of the superstep. Only forks have it.
	Edit map[string]any `json:"edit,omitempty"`
	// Steps are granted; Above says whose limit allows no more: 1 is that of the
	// next run around (StepsGranted).
	Steps int `json:"steps,omitempty"`
	Above int `json:"above,omitempty"`
	// Child is what else a subgraph came to (TaskEnded of a graph node).
	Child *ChildEnd `json:"child,omitempty"`
	// Park says that the task has not ended but waits for people (TaskEnded).
	Park *Parking `json:"park,omitempty"`
	// Question is the ID of the question that is answered (Answered).
	Question string `json:"question,omitempty"`
	// By says who answered (Answered). Hold keeps the answer for whoever takes the
	// run up: nobody drives it.
	By   string `json:"by,omitempty"`
	Hold bool   `json:"hold,omitempty"`
	// Target and Reasoning are a router's answer (Decided). Of Answered, and of
	// TimerFired for the time that a person had, Target is the question's name in
	// the outermost run.
	Target    string `json:"target,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// UnmarshalJSON reads an event back with the data in it canonical, so that a
// replay sees the very values of the first run. Numbers are read by their
// digits: as float64 an integer beyond 2^53 would come back as another one.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode((*plain)(e)); err != nil {
		return err
	}
	var err error
	canonical := func(v any) any {
		out, bad := eval.Canonical(v)
		err = errors.Join(err, bad)
		return out
	}
	e.Output, e.Partial = canonical(e.Output), canonical(e.Partial)
	if e.Input != nil {
		e.Input, _ = canonical(e.Input).(map[string]any)
	}
	if e.Edit != nil {
		e.Edit, _ = canonical(e.Edit).(map[string]any)
	}
	if e.Run != nil && e.Run.Session != nil {
		e.Run.Session, _ = canonical(e.Run.Session).(map[string]any)
	}
	if e.Park != nil {
		for i := range e.Park.Asks {
			ask := &e.Park.Asks[i]
			if ask.Schema != nil {
				ask.Schema, _ = canonical(ask.Schema).(map[string]any)
			}
			if ask.Tool != nil {
				ask.Tool.Args, _ = canonical(ask.Tool.Args).(map[string]any)
			}
		}
	}
	if e.Failure != nil && e.Failure.Details != nil {
		e.Failure.Details, _ = canonical(e.Failure.Details).(map[string]any)
	}
	return err
}

// Parking is what a task waits for that stops before its end. It runs again, as
// the same attempt and with the answers, when all of its questions are answered;
// a subgraph when one is.
type Parking struct {
	Asks []Ask `json:"asks,omitempty"`
	// At is the breakpoint that a subgraph stands at, with paths of nodes in it.
	At *Breakpoint `json:"at,omitempty"`
	// Until is when a subgraph goes on by itself, as Unix time in nanoseconds; 0:
	// never.
	Until int64 `json:"until,omitempty"`
}

// Ask is a question of a task that runs in the driver.
type Ask struct {
	// ID tells the questions of a task apart; Key is the asking program's name for
	// it, empty for a human node.
	ID  string `json:"id"`
	Key string `json:"key,omitempty"`
	// Node is the path of the node in a subgraph that asks, and Element its
	// element, from 1; empty and 0 for the task's own questions.
	Node    string `json:"node,omitempty"`
	Element int    `json:"element,omitempty"`
	Prompt  string `json:"prompt"`
	// Schema says which answers are legal; nil: any text.
	Schema map[string]any `json:"schema,omitempty"`
	// Tool is the call that a person is to approve; nil: the question is another.
	Tool *ToolAsk `json:"tool,omitempty"`
	// Until is when a subgraph goes on without an answer, as Unix time in
	// nanoseconds; 0: never.
	Until int64 `json:"until,omitempty"`
}

// ToolAsk is a call of a tool that waits for approval.
type ToolAsk struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// TaskID identifies one attempt of one node execution. It is the same in every
// replay, because it is made of what the journal fixes.
type TaskID struct {
	Node string `json:"node"`
	// Visit counts the node's executions from 1; Attempt counts from 1.
	Visit   int `json:"visit"`
	Attempt int `json:"attempt"`
	// Element is the element of an `each`, counted from 1; 0 otherwise.
	Element int `json:"element,omitempty"`
}

// TimerKind names a timer. The zero value is unset.
type TimerKind string

// The timers.
const (
	RunTimer   TimerKind = "run"     // limits.timeout
	StepTimer  TimerKind = "step"    // limits.step_timeout, of a superstep
	TaskTimer  TimerKind = "timeout" // an attempt's timeout
	RetryTimer TimerKind = "retry"   // the delay before another attempt
	WaitTimer  TimerKind = "wait"    // a wait node

	// AnswerTimer is the time a person has to answer.
	AnswerTimer TimerKind = "answer"

	// GraceTimer is what finally has after a cancellation.
	GraceTimer TimerKind = "grace"

	// BranchTimer is parallel.branch_timeout; its TaskID names the node that
	// fanned out, the number of the fan-out and the branch.
	BranchTimer TimerKind = "branch"
)

// RunInfo identifies a run and holds what its caller set. Zero settings keep
// the graph's.
type RunInfo struct {
	ID             string        `json:"id"`
	MaxSteps       int           `json:"max_steps,omitempty"`
	MaxConcurrency int           `json:"max_concurrency,omitempty"`
	Timeout        time.Duration `json:"timeout,omitempty"`
	MaxStateBytes  int           `json:"max_state_bytes,omitempty"`
	Goal           string        `json:"goal,omitempty"`
	// Dir is the folder of the run, where an expression reads it (RunBegan).
	Dir string `json:"dir,omitempty"`
	// PauseBefore and PauseAfter name further nodes with breakpoints.
	PauseBefore []string `json:"pause_before,omitempty"`
	PauseAfter  []string `json:"pause_after,omitempty"`
	// Models is what the caller chose of models; nil keeps what was chosen before.
	Models *ModelSettings `json:"models,omitempty"`
	// Session holds the state keys that the run takes over from its session; an
	// input goes before them.
	Session map[string]any `json:"session,omitempty"`
	// Talk is the conversation that the run goes on with.
	Talk []Message `json:"talk,omitempty"`
	// Held says that the run has begun and waits for others, paused with the reason
	// concurrency, before its first node.
	Held bool `json:"held,omitempty"`
	// Parent places a subgraph's run; nil for a run of its own.
	Parent *ParentInfo `json:"parent,omitempty"`
}

// ParentInfo is what a subgraph's run takes from the run around it.
type ParentInfo struct {
	// Key is the idempotency key of the node that runs the subgraph.
	Key string `json:"key"`
	// StepsLeft is how many steps the runs around it have left.
	StepsLeft int `json:"steps_left"`
	// Shared says that other subgraphs may run beside this one: it asks for its
	// steps, all but those Granted. Above says whose limit did not allow as many as
	// it goes on with, as in StepsGranted.
	Shared  bool `json:"shared,omitempty"`
	Granted int  `json:"granted,omitempty"`
	Above   int  `json:"above,omitempty"`
	// MaxStateBytes is the limit of the run around it, StateBytesAbove whose it is: 1
	// of that run itself.
	MaxStateBytes   int `json:"max_state_bytes,omitempty"`
	StateBytesAbove int `json:"state_bytes_above,omitempty"`
}

// ChildEnd is what a subgraph came to, besides its output or failure.
type ChildEnd struct {
	// Steps are those of the subgraph and of the subgraphs in it; Waiting are those
	// of them whose executions wait, should it rest.
	Steps   int `json:"steps"`
	Waiting int `json:"waiting,omitempty"`
	// Degraded says that something in it failed and was tolerated.
	Degraded bool `json:"degraded,omitempty"`
	// OutOfSteps says that it ended because the runs around it had no step left.
	OutOfSteps bool `json:"out_of_steps,omitempty"`
	// Above says whose: 1 is the next run around the one that it ended in, 0 that
	// one itself.
	Above int `json:"above,omitempty"`
}

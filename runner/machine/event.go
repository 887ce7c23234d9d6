// Events: the recorded facts that drive the machine.

package machine

import (
	"time"

	"github.com/graphrun/graphrun/eval"
)

// EventKind says what happened. The zero value is unset.
type EventKind string

// The kinds of events. A driver appends an event durably before it applies it.
const (
	// RunBegan starts the run with Run and Input.
	RunBegan EventKind = "run_began"
	// TaskBegan records the start of a task with effects. It changes nothing: after a crash the
	// task runs again.
	TaskBegan EventKind = "task_began"
	// TaskNoted stores Output, such as a model's answer, in case the attempt runs again.
	TaskNoted EventKind = "task_noted"
	// GraphCalled runs Graph with Input for the attempt's tool call number Call, and the command
	// ReturnGraph returns the result. With Call 0, it runs a graph node's graph (RunInfo.Hooked).
	GraphCalled EventKind = "graph_called"
	// TaskEnded ends an attempt with Output, Failure, or Asks.
	TaskEnded EventKind = "task_ended"
	// TimerFired reports that a timer fired.
	TimerFired EventKind = "timer_fired"
	// Advanced continues after Advance. It marks a batch of steps without effects.
	Advanced EventKind = "advanced"
	// Decided holds the target that a router chose, or its Failure.
	Decided EventKind = "decided"
	// Answered holds a person's answer to a Question of Task, as Output.
	Answered EventKind = "answered"
	// CancelAsked cancels running tasks and ends the run.
	CancelAsked EventKind = "cancel_asked"
	// PauseAsked pauses the run: running tasks finish, and no further step starts. With the Reason
	// "wait", the run only loses its driver until a resume.
	PauseAsked EventKind = "pause_asked"
	// Resumed continues a run that paused, did not complete, or lost its driver.
	Resumed EventKind = "resumed"
	// Admitted starts a held run, which now has its slot in the concurrency group.
	Admitted EventKind = "admitted"
)

// Event is one recorded fact. Which fields are set depends on Kind.
type Event struct {
	Kind EventKind `json:"kind"`
	// At is the Unix time in nanoseconds, from the driver's clock.
	At int64 `json:"at,omitempty"`
	// Run identifies the run and holds its settings (RunBegan, Resumed).
	Run *RunInfo `json:"run,omitempty"`
	// Input is the input of the run by state key (RunBegan), or of a graph (GraphCalled).
	Input map[string]any `json:"input,omitempty"`
	// StopAt is State.StopAt while the event is applied. A fork begins there.
	StopAt int `json:"stop_at,omitempty"`
	// Emitted is the number of the last event that the driver had emitted.
	Emitted int64 `json:"told,omitempty"`
	// Edit holds state keys that a fork changes (RunBegan, Resumed, and with StopAt).
	Edit map[string]any `json:"edit,omitempty"`
	// Task is the attempt that the event is about.
	Task TaskID `json:"task,omitzero"`
	// Node and Visit describe the attempt for readers of the journal (TaskBegan).
	Node  string `json:"node,omitempty"`
	Visit int    `json:"visit,omitempty"`
	// Timer is the timer that fired (TimerFired), Fan and Lane the branch of a BranchTimer.
	Timer TimerKind `json:"timer,omitempty"`
	Fan   int       `json:"fan,omitempty"`
	Lane  int       `json:"lane,omitempty"`
	// Output is the output of a task (TaskEnded), a note (TaskNoted), or an answer.
	Output any `json:"output,omitempty"`
	// Partial is the output so far of a task that was cancelled or failed.
	Partial any `json:"partial,omitempty"`
	// Reason says in a word how a task ended (TaskEnded), or why the run is cancelled.
	Reason string `json:"reason,omitempty"`
	// Failure says why a task or a decision failed.
	Failure *Failure   `json:"failure,omitempty"`
	Talk    *TalkDelta `json:"talk,omitempty"`  // of TaskEnded
	Usage   *Usage     `json:"usage,omitempty"` // of the model call in a TaskNoted
	// Cached means that the output comes from the cache.
	Cached bool `json:"cached,omitempty"`
	// Asks are questions to people (TaskEnded). The attempt runs again after all answers.
	Asks []Ask `json:"asks,omitempty"`
	// Graph names the graph of a tool call (GraphCalled). Call numbers the attempt's calls from 1.
	Graph string `json:"graph,omitempty"`
	Call  int    `json:"call,omitempty"`
	// Question is the ID of the question that By has answered.
	Question string `json:"question,omitempty"`
	By       string `json:"by,omitempty"`
	// Hold keeps the answer until a resume, because the run has no driver (Answered).
	Hold bool `json:"hold,omitempty"`
	// Target and Reasoning are a router's answer (Decided). Otherwise Target names the question.
	Target    string `json:"target,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// UnmarshalJSON reads an event with canonical data.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	return eval.DecodeJSON(text, (*plain)(e))
}

// TaskID identifies an attempt of a task or of an element. It is the same in every replay.
type TaskID struct {
	Task    int `json:"task"`              // its number in the run, from 1
	Element int `json:"element,omitempty"` // of an `each`, from 1; otherwise 0
	Attempt int `json:"attempt,omitempty"` // from 1
}

// TimerKind names a timer. The zero value is unset.
type TimerKind string

// The timers. All but RunTimer, BranchTimer and GraceTimer belong to an attempt.
const (
	RunTimer    TimerKind = "run"     // limits.timeout of the scope that Task runs; Task 0: of the run
	StepTimer   TimerKind = "step"    // limits.step_timeout
	TaskTimer   TimerKind = "timeout" // an attempt's timeout
	RetryTimer  TimerKind = "retry"   // the delay before another attempt
	WaitTimer   TimerKind = "wait"    // a wait node
	AnswerTimer TimerKind = "answer"  // the timeout or reminder of a question
	GraceTimer  TimerKind = "grace"   // the time for finally after a cancellation
	BranchTimer TimerKind = "branch"  // parallel.branch_timeout
)

// RunInfo identifies a run and holds its caller's settings. Zero settings keep the graph's.
type RunInfo struct {
	ID             string        `json:"id"`
	MaxSteps       int           `json:"max_steps,omitempty"`
	MaxConcurrency int           `json:"max_concurrency,omitempty"`
	Timeout        time.Duration `json:"timeout,omitempty"`
	MaxStateBytes  int           `json:"max_state_bytes,omitempty"`
	Goal           string        `json:"goal,omitempty"`
	// Dir is the folder of the run, if an expression reads it.
	Dir string `json:"dir,omitempty"`
	// PauseBefore and PauseAfter are the paths of further nodes with breakpoints.
	PauseBefore []string `json:"pause_before,omitempty"`
	PauseAfter  []string `json:"pause_after,omitempty"`
	// Models are the caller's settings, or nil to keep the earlier ones.
	Models *ModelSettings `json:"models,omitempty"`
	// Session holds the state keys of the run's session. Inputs override them.
	Session map[string]any `json:"session,omitempty"`
	// Talk is the conversation that the run continues.
	Talk []Message `json:"talk,omitempty"`
	// Hooked means that the driver has hooks: graph nodes become commands, and wait for GraphCalled.
	Hooked bool `json:"hooked,omitempty"`
	// Held means that the run waits for a slot in its group, paused with the reason concurrency.
	Held bool `json:"held,omitempty"`
}

// Ask is a question to a person.
type Ask struct {
	// ID is unique within the task. Key is the program's key, or "" for a human node.
	ID     string `json:"id"`
	Key    string `json:"key,omitempty"`
	Prompt string `json:"prompt"`
	// Schema describes valid answers. Without one, any text is valid.
	Schema map[string]any `json:"schema,omitempty"`
	// Tool is the call to approve, or nil for other questions.
	Tool *ToolAsk `json:"tool,omitempty"`
	// Until is the Unix time in nanoseconds when the question times out, or 0.
	Until int64 `json:"until,omitempty"`
}

// ToolAsk is a tool call that waits for approval.
type ToolAsk struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

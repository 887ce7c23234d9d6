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
	// TaskBegan records that a task with effects is about to run. It changes nothing:
	// after a crash, tasks that began and did not end run again.
	TaskBegan EventKind = "task_began"
	// TaskNoted brings, as Output, something that a running task wants to find again if
	// it runs again as the same attempt, such as a model's reply that is paid for.
	TaskNoted EventKind = "task_noted"
	// GraphCalled says that a running task calls a graph that is a tool, with Graph and
	// Input. The scope's result is the command ReturnGraph. Without Call it says that the
	// graph of a graph node begins, see RunInfo.Hooked.
	GraphCalled EventKind = "graph_called"
	// TaskEnded brings a task's Output, its Failure, or what it Asks.
	TaskEnded EventKind = "task_ended"
	// TimerFired says that a timer asked for by StartTimer ran out.
	TimerFired EventKind = "timer_fired"
	// Advanced lets the run go on after Advance: it marks a batch of steps without effects.
	Advanced EventKind = "advanced"
	// Decided brings the target that a router chose, or its Failure.
	Decided EventKind = "decided"
	// Answered brings a person's answer, as Output, to a Question of Task; By says who
	// gave it.
	Answered EventKind = "answered"
	// CancelAsked ends the run: running tasks are cancelled, then it ends.
	CancelAsked EventKind = "cancel_asked"
	// PauseAsked pauses the run: no further step starts, running tasks end. With the Reason
	// "wait" it only says that nobody drives the run while time passes, until it is resumed.
	PauseAsked EventKind = "pause_asked"
	// Resumed goes on with a run that paused, did not complete, or lost its driver.
	Resumed EventKind = "resumed"
)

// Event is one recorded fact. Which fields are set depends on Kind.
type Event struct {
	Kind EventKind `json:"kind"`
	// At is when it happened: Unix time in nanoseconds, from the driver's clock.
	At int64 `json:"at,omitempty"`
	// Run identifies the run and holds its settings (RunBegan, Resumed).
	Run *RunInfo `json:"run,omitempty"`
	// Input is the run's input by state key (RunBegan), or that of a graph (GraphCalled).
	Input map[string]any `json:"input,omitempty"`
	// StopAt is State.StopAt while the event is applied: a fork begins there.
	StopAt int `json:"stop_at,omitempty"`
	// Told is the number of the last event that the driver had told before.
	Told int64 `json:"told,omitempty"`
	// Edit holds state keys that a fork sets by hand (RunBegan, Resumed, and with StopAt).
	Edit map[string]any `json:"edit,omitempty"`
	// Task is the attempt that the event is about.
	Task TaskID `json:"task,omitzero"`
	// Node and Visit name the attempt for those who read the journal (TaskBegan): the path
	// with its elements, and the visit.
	Node  string `json:"node,omitempty"`
	Visit int    `json:"visit,omitempty"`
	// Timer says which timer fired (TimerFired), Fan and Lane the branch of a BranchTimer.
	Timer TimerKind `json:"timer,omitempty"`
	Fan   int       `json:"fan,omitempty"`
	Lane  int       `json:"lane,omitempty"`
	// Output is what a task produced (TaskEnded), noted (TaskNoted), or was answered.
	Output any `json:"output,omitempty"`
	// Anew says that the notes before this one count no more (TaskNoted).
	Anew bool `json:"anew,omitempty"`
	// Partial is what a task had produced when it was cancelled or failed.
	Partial any `json:"partial,omitempty"`
	// Reason says in a word why a task ended as it did, where it could have ended in
	// several ways (TaskEnded), or in a sentence why somebody cancels the run.
	Reason string `json:"reason,omitempty"`
	// Failure says why a task or a decision failed.
	Failure *Failure `json:"failure,omitempty"`
	// Talk is what a task adds to the conversation (TaskEnded).
	Talk *TalkDelta `json:"talk,omitempty"`
	// Usage is what a call of a model used (TaskNoted).
	Usage *Usage `json:"usage,omitempty"`
	// Cached says that the output comes from the cache.
	Cached bool `json:"cached,omitempty"`
	// Asks are questions to people: the task runs again, as the same attempt, when all
	// are answered (TaskEnded).
	Asks []Ask `json:"asks,omitempty"`
	// Graph and Call name the graph that a tool call runs, and the call: within its
	// attempt the same call has the same number, from 1 (GraphCalled).
	Graph string `json:"graph,omitempty"`
	Call  int    `json:"call,omitempty"`
	// Question is the ID of the question that is answered; By says who answered.
	Question string `json:"question,omitempty"`
	By       string `json:"by,omitempty"`
	// Hold keeps the answer for whoever resumes the run: nobody drives it (Answered).
	Hold bool `json:"hold,omitempty"`
	// Target and Reasoning are a router's answer (Decided). Of Answered, and of TimerFired for
	// the time that a person had, Target is the name of the question.
	Target    string `json:"target,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// UnmarshalJSON reads an event with canonical data, so that a replay sees the very values of
// the first run.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	return eval.DecodeJSON(text, (*plain)(e))
}

// TaskID identifies an attempt of a task, or of an element of it. It is the same in
// every replay, because it is made of what the journal fixes.
type TaskID struct {
	// Task is the number of the task in the run, from 1.
	Task int `json:"task"`
	// Element is the element of an `each`, from 1; 0: the task has none.
	Element int `json:"element,omitempty"`
	// Attempt counts from 1.
	Attempt int `json:"attempt,omitempty"`
}

// TimerKind names a timer. The zero value is unset.
type TimerKind string

// The timers. All but RunTimer, BranchTimer and GraceTimer are of an attempt.
const (
	RunTimer    TimerKind = "run"     // limits.timeout of the scope that Task runs; Task 0: of the run
	StepTimer   TimerKind = "step"    // limits.step_timeout
	TaskTimer   TimerKind = "timeout" // an attempt's timeout
	RetryTimer  TimerKind = "retry"   // the delay before another attempt
	WaitTimer   TimerKind = "wait"    // a wait node
	AnswerTimer TimerKind = "answer"  // the time a person has to answer
	GraceTimer  TimerKind = "grace"   // what finally has after a cancellation
	BranchTimer TimerKind = "branch"  // parallel.branch_timeout
)

// RunInfo identifies a run and holds what its caller set. Zero settings keep the
// graph's.
type RunInfo struct {
	ID             string        `json:"id"`
	MaxSteps       int           `json:"max_steps,omitempty"`
	MaxConcurrency int           `json:"max_concurrency,omitempty"`
	Timeout        time.Duration `json:"timeout,omitempty"`
	MaxStateBytes  int           `json:"max_state_bytes,omitempty"`
	Goal           string        `json:"goal,omitempty"`
	// Dir is the folder of the run, where an expression reads it.
	Dir string `json:"dir,omitempty"`
	// PauseBefore and PauseAfter name further nodes with breakpoints, by path.
	PauseBefore []string `json:"pause_before,omitempty"`
	PauseAfter  []string `json:"pause_after,omitempty"`
	// Models is what the caller chose of models; nil keeps what was chosen before.
	Models *ModelSettings `json:"models,omitempty"`
	// Session holds the state keys that the run takes over from its session; an input
	// goes before them.
	Session map[string]any `json:"session,omitempty"`
	// Talk is the conversation that the run goes on with.
	Talk []Message `json:"talk,omitempty"`
	// Hooked says that the driver has hooks: it is asked to run a graph node, and says with
	// GraphCalled that the node's graph is to begin.
	Hooked bool `json:"hooked,omitempty"`
	// Held says that the run has begun and waits for others, paused with the reason
	// concurrency, before its first node.
	Held bool `json:"held,omitempty"`
}

// Ask is a question to a person.
type Ask struct {
	// ID tells the questions of a task apart; Key is the asking program's name for it,
	// empty for a human node.
	ID     string `json:"id"`
	Key    string `json:"key,omitempty"`
	Prompt string `json:"prompt"`
	// Schema says which answers are legal; nil: any text.
	Schema map[string]any `json:"schema,omitempty"`
	// Tool is the call that a person is to approve; nil: the question is another.
	Tool *ToolAsk `json:"tool,omitempty"`
	// Until is when the question is closed without an answer, as Unix time in
	// nanoseconds; 0: never.
	Until int64 `json:"until,omitempty"`
}

// ToolAsk is a call of a tool that waits for approval.
type ToolAsk struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// Commands: work that the machine wants done.

package machine

import (
	"time"
)

// CommandKind says what is wanted. The zero value is unset.
type CommandKind int

// The kinds of commands.
const (
	// RunTask asks to run a task; the answer is TaskEnded.
	RunTask CommandKind = iota + 1
	// CancelTask asks to stop a running task; it still answers with TaskEnded.
	CancelTask
	// PauseTask asks a subgraph to pause; its task then answers with TaskEnded and
	// parks, unless it ends before.
	PauseTask
	// StartTimer asks for TimerFired after For.
	StartTimer
	// StopTimer forgets a timer; one that fires all the same is a no-op.
	StopTimer
	// Advance says that the superstep is complete: append and apply Advanced.
	Advance
	// Decide asks the router model to choose; the answer is Decided.
	Decide
	// AskPerson asks a person; the answer is Answered.
	AskPerson
	// PassAnswer gives a subgraph that runs the Answer to a Question that something
	// in it asks.
	PassAnswer
	// TakeSteps asks for steps that a subgraph shares with others; the answer is
	// StepsGranted.
	TakeSteps
	// Pause says that the run is paused; it is the last command until it is
	// resumed or a question is answered.
	Pause
	// Finish says that the run has ended; it is the last command.
	Finish
)

// Command is work wanted. Which fields are set depends on Kind.
type Command struct {
	Kind  CommandKind
	Task  TaskID
	Timer TimerKind
	For   time.Duration
	// Work is what to run (RunTask).
	Work *Work
	// Choice is what to decide (Decide).
	Choice *Choice
	// Question is what to ask (AskPerson), or its ID what is answered (PassAnswer).
	Question *Question
	// Answer is the answer, and By who gave it (PassAnswer).
	Answer any
	By     string
	// Steps is how many are asked for (TakeSteps).
	Steps int
}

// Work is everything a handler needs for one attempt.
type Work struct {
	// Kind is the node's kind.
	Kind string
	// Step is the step that the execution is.
	Step int
	// Key is the idempotency key, the same for all attempts.
	Key string
	// Config holds the kind's keys, evaluated.
	Config map[string]any
	Input  any
	// Item and Index are the element of an `each`; Index is -1 otherwise.
	Item  any
	Index int
	// Elements is how many elements that `each` has; 0: there is none.
	Elements int
	// State holds the keys that the node may read.
	State map[string]any
	// Talk is the conversation, for the kinds that take part in it; nil for others.
	Talk *Talk
	// Turns counts, by role, the calls of models that earlier attempts of the
	// visit made.
	Turns map[string]int
	// Log holds what the attempt noted when it ran before, in order; nil: nothing.
	Log []any
	// Answers are those to what the task asked when it ran before, by the ID of
	// the question; nil: none.
	Answers map[string]any
	// Timeout bounds the attempt; 0: none. The machine watches it; a driver
	// may use it to tell the handler.
	Timeout time.Duration
	// CacheKey names the result in a cache, CacheTTL how long it is good for
	// (0: for ever); without a key it is not to be cached.
	CacheKey string
	CacheTTL time.Duration
	// PauseBefore and PauseAfter are breakpoints in a subgraph.
	PauseBefore, PauseAfter []string
	// StepsLeft is how many steps the run has left, for a subgraph.
	StepsLeft int
	// StepsCounted are those that the subgraph took before it rested; SharesSteps
	// says that others may run beside it.
	StepsCounted int
	SharesSteps  bool
}

// Choice is a decision between edges.
type Choice struct {
	Goal   string
	Output any
	// Turns counts, by role, the calls that were made for the decision before Log.
	Turns map[string]int
	// Log holds what was noted about the decision when it was asked for before.
	Log []any
	// Path are the nodes that have run, by their ids, the one that is decided on
	// among the last; the driver fills it in.
	Path []string
	// See are the state keys that the node shows, in its order, and Instructions
	// how it wants the decision made; the driver masks the values.
	See          []KeyValue
	Instructions string
	// Candidates are the llm_decide edges in declaration order.
	Candidates []Option
}

// Option is a candidate target and what its edge and node say about it.
type Option struct {
	Edge        int
	Target      string
	Description string
}

// Commands: work that the machine wants done.

package machine

import (
	"time"
)

// CommandKind is the kind of a command. The zero value is unset.
type CommandKind int

// The kinds of commands.
const (
	// RunTask asks to run an attempt; the answer is TaskEnded.
	RunTask CommandKind = iota + 1
	// CancelTask asks to stop a running attempt; it still answers with TaskEnded.
	CancelTask
	// StartTimer asks for TimerFired after For; negative: its moment is over by so much,
	// and timers that are over fire in the order of their moments. It replaces a timer of
	// the same name.
	StartTimer
	// StopTimer forgets a timer; one that fires all the same changes nothing.
	StopTimer
	// Advance asks for Advanced: more steps without effects follow than one event runs.
	Advance
	// Decide asks the router model to choose; the answer is Decided.
	Decide
	// AskPerson asks a person; the answer is Answered.
	AskPerson
	// CloseQuestion says that a question is answered, timed out, or not wanted any more.
	CloseQuestion
	// ReturnGraph gives a running task the result of a graph that it called.
	ReturnGraph
	// Pause says that the run is paused; it is the last command until it is resumed or a
	// question is answered.
	Pause
	// Finish says that the run has ended; it is the last command.
	Finish
)

// Command is work for the driver. Which fields are set depends on Kind.
type Command struct {
	Kind CommandKind
	Task TaskID
	// Timer is the timer to start or stop; Fan and Lane are the branch of a BranchTimer.
	Timer     TimerKind
	Fan, Lane int
	For       time.Duration
	// Work is what to run (RunTask).
	Work *Work
	// Choice is what to decide (Decide).
	Choice *Choice
	// Question is what to ask (AskPerson), or what is closed (CloseQuestion).
	Question *Question
	// Call, Output and Failure are the result of a called graph (ReturnGraph).
	Call    int
	Output  any
	Failure *Failure
}

// Work is everything a handler needs for one attempt.
type Work struct {
	// Place says where the attempt stands.
	Place
	// Kind is the node's kind; Graph is the plan that the node is part of.
	Kind  string
	Graph *Plan
	// Step is the number of the execution among those of its graph's past.
	Step int
	// Key is the idempotency key, the same for all attempts.
	Key string
	// Config holds the kind's keys, evaluated.
	Config map[string]any
	Input  any
	// Item and Index are the element of an `each`; Index is -1 otherwise.
	Item  any
	Index int
	// State holds the keys that the node may read.
	State map[string]any
	// Talk is the conversation, for the kinds that take part in it; nil for others.
	Talk *Talk
	// Turns counts, by role, the calls of models that earlier attempts of the visit made.
	Turns map[string]int
	// Log holds what the attempt noted when it ran before, in order; nil: nothing.
	Log []any
	// Answers are those to what the task asked when it ran before, by the ID of the
	// question; nil: none.
	Answers map[string]any
	// Round counts how often the attempt was interrupted and answered before.
	Round int
	// Timeout bounds the attempt; 0: none. The machine watches it; a driver may use it
	// to tell the handler.
	Timeout time.Duration
	// CacheKey names the result in a cache, CacheTTL how long it is good for (0: for
	// ever); without a key it is not to be cached.
	CacheKey string
	CacheTTL time.Duration
}

// Place is the position of an execution in the run, independent of timing.
type Place struct {
	// Scope is the path of the graph nodes around: "", "outer", "outer[2]/inner".
	Scope string
	Node  string
	Visit int
	// Branch is the id of the branch's first node; "" outside of fan-outs.
	Branch string
	// Rank and Order are the place in path order: order holds the lane in each fan-out.
	Rank  int
	Order []int
}

// Path returns the node's id, prefixed with the scope's path.
func (p *Place) Path() string {
	if p.Scope == "" {
		return p.Node
	}
	return p.Scope + "/" + p.Node
}

// Choice is a question to the router model: which edge to take.
type Choice struct {
	Place
	Graph  *Plan
	Goal   string
	Output any
	// Turns counts, by role, the calls that were made for the decision before Log.
	Turns map[string]int
	// Log holds what was noted about the decision when it was asked for before.
	Log []any
	// Trail lists the nodes in the task's past, in path order, the one that is decided
	// on last; at most maxTrail of them.
	Trail []string
	// See are the state keys that the node shows, in its order, and Instructions how it
	// wants the decision made; the driver masks the values.
	See          []KeyValue
	Instructions string
	// Candidates are the llm_decide edges in declaration order.
	Candidates []Option
}

// Option is one candidate edge, with the descriptions from the edge and its target node.
type Option struct {
	Edge        int
	Target      string
	Description string
}

// KeyValue is a state key and its value.
type KeyValue struct {
	Key   string
	Value any
}

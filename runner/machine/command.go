// Commands: work for the driver.

package machine

import "time"

// CommandKind is the kind of a command. The zero value is unset.
type CommandKind int

// The kinds of commands.
const (
	// RunTask runs an attempt. TaskEnded follows.
	RunTask CommandKind = iota + 1
	// CancelTask stops a running attempt. TaskEnded still follows.
	CancelTask
	// StartTimer starts a timer, or replaces the one with the same identity. TimerFired follows after
	// For. Timers with a negative For fire at once, ordered by For.
	StartTimer
	// StopTimer stops a timer. A stopped timer that still fires changes nothing.
	StopTimer
	// Advance continues a batch of steps without effects. Advanced follows.
	Advance
	// Decide asks the router model to choose. Decided follows.
	Decide
	// AskPerson asks a person. Answered follows.
	AskPerson
	// CloseQuestion closes a question that is answered, timed out, or withdrawn.
	CloseQuestion
	// ReturnGraph passes the result of a called graph to the running task.
	ReturnGraph
	// Pause reports that the run is paused: only a resume or an answer follows.
	Pause
	// Finish reports that the run has ended. It is the last command.
	Finish
)

// Command is work for the driver. Which fields are set depends on Kind.
type Command struct {
	Kind CommandKind
	Task TaskID
	// Timer is the timer to start or stop. Fan and Lane are the branch of a BranchTimer.
	Timer     TimerKind
	Fan, Lane int
	For       time.Duration
	Work      *Work     // RunTask
	Choice    *Choice   // Decide
	Question  *Question // AskPerson, CloseQuestion
	// Call, Output and Failure are the result of a called graph (ReturnGraph).
	Call    int
	Output  any
	Failure *Failure
}

// Work is everything a handler needs for one attempt.
type Work struct {
	Place
	Kind  string // of the node
	Graph *Plan  // of the graph with the node
	// Key is the idempotency key, the same for all attempts.
	Key string
	// Config holds the evaluated keys of the node's kind.
	Config map[string]any
	Input  any
	// Item and Index are the element of an `each`. Otherwise Index is -1.
	Item  any
	Index int
	// State holds the keys that the node may read.
	State map[string]any
	// Talk is the conversation, or nil for kinds without one.
	Talk *Talk
	// Turns counts the model calls of earlier attempts of the visit by role.
	Turns map[string]int
	// Log holds the notes of this attempt from before an interruption.
	Log []any
	// Answers holds answers to questions of this attempt, by the ID of the question.
	Answers map[string]any
	// Round counts how often the attempt was interrupted and answered.
	Round int
	// Timeout bounds the attempt unless it is 0. The machine enforces it.
	Timeout time.Duration
	// CacheKey is the key of the result in a cache, or "". CacheTTL is its lifetime; 0 is unlimited.
	CacheKey string
	CacheTTL time.Duration
}

// Place is the position of an execution in the run, independent of timing.
type Place struct {
	// Scope is the path of the enclosing graph nodes: "", "outer", "outer[2]/inner".
	Scope string
	Node  string
	Visit int
	// Branch is the id of the branch's first node, or "" outside of fan-outs.
	Branch string
	// Rank and Order are the position in path order. Order holds the lane in each fan-out.
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
	Output any
	// Turns counts the calls for this decision before Log, by role.
	Turns map[string]int
	// Log holds the notes about the decision from before an interruption.
	Log []any
	// Trail lists the last maxTrail nodes of the past in path order; the last one decides.
	Trail []string
	// See holds the state keys that the node shows to the router, unmasked, in the node's order.
	See          []KeyValue
	Instructions string
	// Candidates are the llm_decide edges in declaration order.
	Candidates []Option
}

// Option is one candidate edge, with the descriptions from the edge and its target node.
type Option struct {
	Target      string
	Description string
}

// KeyValue is a state key and its value.
type KeyValue struct {
	Key   string
	Value any
}

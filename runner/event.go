// The event stream of a run: what `-o jsonl`, `--trace` and hooks see.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// EventType names an event. The zero value is unset.
type EventType string

// The events of a run.
const (
	RunStarted      EventType = "run_started"
	BranchesStarted EventType = "branches_started"
	BranchesJoined  EventType = "branches_joined"
	NodeStarted     EventType = "node_started"
	NodeRetrying    EventType = "node_retrying"
	NodeOutput      EventType = "node_output"
	NodeThinking    EventType = "node_thinking"
	NodeEvent       EventType = "node_event"
	LLMUsage        EventType = "llm_usage"
	ToolCalled      EventType = "tool_called"
	NodeCompleted   EventType = "node_completed"
	NodeFailed      EventType = "node_failed"
	EdgesResolved   EventType = "edges_resolved"
	StateUpdated    EventType = "state_updated"
	Checkpoint      EventType = "checkpoint"
	RunWaiting      EventType = "run_waiting"
	RunPaused       EventType = "run_paused"
	RunResumed      EventType = "run_resumed"
	RunFinished     EventType = "run_finished"
)

// Event is one thing that happened. Which fields are set depends on Type; zero
// fields are absent from its JSON.
type Event struct {
	Type EventType
	// Seq numbers a run's events from 1 on, over all its drivers: an event that is told
	// later has a higher one. What is told live only leaves gaps in Replay and Follow,
	// and so does a crash.
	Seq   int64
	Time  time.Time
	RunID string

	// Step numbers the steps of a graph in the order in which they end; 0: it runs, or is
	// none.
	Step int
	// Rank is the step's in path order, from 1.
	Rank int
	Node string
	// Place is Node with the elements of each that it is inside, as in s[1]/write, or ""
	// when it is inside none.
	Place   string
	Kind    string // node_started: the node's kind
	Visit   int
	Attempt int
	Branch  string
	// Finally says that the node runs in finally: it is no step (node_started,
	// node_retrying, node_completed, node_failed).
	Finally  bool
	Duration time.Duration // node_completed, node_failed

	// Graph, Start, MaxSteps: run_started; MaxSteps also edges_resolved.
	Graph    string
	Start    string
	MaxSteps int
	// From are the nodes that branches come from (branches_joined).
	From []string
	// Input is run_started's input; Output node_completed's and edges_resolved's:
	// plain data.
	Input  any
	Output any
	// Cached says that node_completed comes from the cache; Skipped that the
	// node did not run because of on_max_visits: skip.
	Cached  bool
	Skipped bool
	Error   *machine.Failure // node_failed, node_retrying
	// MaxAttempts and NextDelay: node_retrying; AskedDelay too, if the other side
	// asked for a longer delay than it gets.
	MaxAttempts int
	NextDelay   time.Duration
	AskedDelay  time.Duration
	// Next and Candidates: edges_resolved; Next also branches_started.
	Next       []string
	Candidates []machine.Candidate
	// Delta is state_updated: the keys that changed, sorted by name.
	Delta []machine.KeyValue
	// Usage is llm_usage's.
	Usage *machine.Usage
	// Waiting is run_waiting's.
	Waiting *store.Waiting
	// Said is the content of node_event, node_output, node_thinking and tool_called, and
	// of a node_retrying that the executor has no part in.
	Said *Said
	// Result is run_finished's and run_paused's.
	Result *Result
	// live says that no journal tells it.
	live bool
}

// Sink receives every event, one at a time, in order. The event and its lists are
// the runner's again after Event returns: a sink that keeps them must copy them.
type Sink interface {
	Event(e *Event) error
}

// LiveStore is a store that has, of runs that others drive, also what their drivers
// told and no journal tells: text, progress, warnings, and who a run waits for.
type LiveStore interface {
	// Live returns what was told live in a run since the last call, in order. It is
	// asked after Events.
	Live(runID string) []LiveEvent
}

// LiveEvent is an event that no journal tells.
type LiveEvent struct {
	// After is how many events the journal had when it was told.
	After int
	Event Event
}

// Live reports whether no journal tells the event.
func (e *Event) Live() bool { return e.live }

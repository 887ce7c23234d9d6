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

// Event is one thing that happened. Its fields depend on Type; JSON omits zero fields.
type Event struct {
	Type EventType
	// Seq numbers all events of a run from 1. Live events and crashes leave gaps in replays.
	Seq   int64
	Time  time.Time
	RunID string

	// Step is the number of a step that has ended, in the order of the ends, or 0.
	Step int
	// Rank is the number of the step in path order, from 1.
	Rank int
	Node string
	// Place is Node with the elements of `each` around it, as in s[1]/write, or "" without any.
	Place   string
	Kind    string // node_started: the node's kind
	Visit   int
	Attempt int
	Branch  string
	// Finally means that the node runs in finally, and is not a step.
	Finally  bool
	Duration time.Duration // node_completed, node_failed

	// Graph, Start, MaxSteps: run_started; MaxSteps also edges_resolved.
	Graph    string
	Start    string
	MaxSteps int
	// From are the nodes that branches come from (branches_joined).
	From   []string
	Input  any // run_started
	Output any // node_completed, edges_resolved
	// Cached and Skipped (by on_max_visits) say why a node did not run (node_completed).
	Cached  bool
	Skipped bool
	Error   *machine.Failure // node_failed, node_retrying
	// MaxAttempts, NextDelay: node_retrying; AskedDelay if the other side asked for more.
	MaxAttempts int
	NextDelay   time.Duration
	AskedDelay  time.Duration
	// Next and Candidates: edges_resolved; Next also branches_started.
	Next       []string
	Candidates []machine.Candidate
	Delta      []machine.KeyValue // state_updated: the keys that changed, sorted
	Usage      *machine.Usage     // llm_usage
	Waiting    *store.Waiting     // run_waiting
	// Said is the content of node_event, node_output, node_thinking, tool_called and of retries
	// within a task.
	Said   *Said
	Result *Result // run_finished, run_paused
	live   bool    // it is in no journal
}

// Sink receives every event, one at a time, in order. It must copy what it keeps of an event.
type Sink interface {
	Event(e *Event) error
}

// SinkFunc is a function that takes events.
type SinkFunc func(e *Event) error

// Event calls the function.
func (f SinkFunc) Event(e *Event) error { return f(e) }

// LiveStore is a store that also has the live events of runs that others drive.
type LiveStore interface {
	// Live returns the run's live events since the last call, in order. Events is called before.
	Live(runID string) []LiveEvent
}

// LiveEvent is an event that is in no journal: text, progress, a warning or run_waiting.
type LiveEvent struct {
	After int // events that the journal had then
	Event Event
}

// Live reports whether the event is in no journal.
func (e *Event) Live() bool { return e.live }

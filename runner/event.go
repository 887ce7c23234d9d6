// The events of a run and their JSON, for `-o jsonl`, `--trace` and sinks.

package runner

import (
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
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
	// Seq numbers all events of a run from 1. In replays, live events and crashes leave gaps.
	Seq   int64
	Time  time.Time
	RunID string

	// Step is the number of the step that ended, in the order in which steps end, or 0.
	Step int
	// Rank is the number of the step in path order, from 1.
	Rank int
	Node string
	// Place is Node with the elements of `each` around it, as in s[1]/write, or "" if there are none.
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
	// From are the last nodes of the joined branches (branches_joined).
	From   []string
	Input  any // run_started
	Output any // node_completed, edges_resolved
	// Cached and Skipped (by on_max_visits) say why a node did not run (node_completed).
	Cached  bool
	Skipped bool
	Error   *machine.Failure // node_failed, node_retrying
	// MaxAttempts, NextDelay: node_retrying; AskedDelay if the server asked for a longer delay.
	MaxAttempts int
	NextDelay   time.Duration
	AskedDelay  time.Duration
	// Next and Candidates: edges_resolved; Next also branches_started.
	Next       []string
	Candidates []machine.Candidate
	Delta      []machine.KeyValue // state_updated: the keys that changed, sorted
	Usage      *machine.Usage     // llm_usage
	Waiting    *store.Waiting     // run_waiting
	// Said is the content of node_event, node_output, node_thinking, tool_called and of retries within
	// a task.
	Said   *Said
	Result *Result // run_finished, run_paused
	live   bool    // not stored in a journal
}

// Sink receives every event, one at a time, in order. The event is reused: a sink must copy what it
// keeps.
type Sink interface {
	Event(e *Event) error
}

// SinkFunc is a function as a Sink.
type SinkFunc func(e *Event) error

// Event calls the function.
func (f SinkFunc) Event(e *Event) error { return f(e) }

// LiveStore is a store that also has the live events of runs that other processes drive.
type LiveStore interface {
	// Live returns the run's live events since the last call, in order. Call Events before it.
	Live(runID string) []LiveEvent
}

// LiveEvent is an event that no journal stores: text, progress, a warning or run_waiting.
type LiveEvent struct {
	After int // number of events in the journal at that time
	Event Event
}

// IsLive reports whether the event is not stored in a journal.
func (e *Event) IsLive() bool { return e.live }

// JSONSink writes every event as a line of JSON. It is not safe for concurrent use.
type JSONSink struct {
	w    io.Writer
	line []byte
}

// NewJSONSink returns a sink that writes to w, preferably a buffered writer that the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	s.line = append(e.AppendJSON(s.line[:0]), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// AppendJSON appends the event as one JSON object in a fixed order, without a line break.
func (e *Event) AppendJSON(dst []byte) []byte {
	o := &object{append(append(append(dst, `{"event":"`...), e.Type...), '"')}
	o.addMember("seq", e.Seq)
	o.dst = append(appendTime(append(o.dst, `,"time":"`...), e.Time), '"')
	if e.Type == RunFinished && e.Result != nil {
		result := appendValue(nil, e.Result)
		return append(append(o.dst, ','), result[1:]...)
	}
	o.addMember("run_id", e.RunID)
	o.addNonZero("step", e.Step)
	o.addNonZero("rank", e.Rank)
	o.addNonZero("branch", e.Branch)
	o.addNonZero("node", e.Node)
	o.addNonZero("place", e.Place)
	o.addNonZero("visit", e.Visit)
	o.addNonZero("attempt", e.Attempt)
	o.addNonZero("finally", e.Finally)
	e.appendContent(o)
	return append(o.dst, '}')
}

// appendContent appends the members that depend on the type of the event.
func (e *Event) appendContent(o *object) {
	switch e.Type {
	case RunStarted:
		o.addNonZero("graph", e.Graph)
		o.addNonZero("start", e.Start)
		o.addNonZero("max_steps", e.MaxSteps)
		o.addMember("input", e.Input)
	case BranchesStarted:
		o.addMember("next", copyNames(e.Next))
	case BranchesJoined:
		o.addMember("from", copyNames(e.From))
	case NodeRetrying:
		if e.Said != nil && e.Said.Retry != nil {
			o.addNonZero("call", e.Said.Retry.What)
		}
		o.addNonZero("max_attempts", e.MaxAttempts)
		o.addMember("next_delay_ms", e.NextDelay.Milliseconds())
		if e.AskedDelay > 0 {
			o.addMember("asked_delay_ms", e.AskedDelay.Milliseconds())
		}
		o.addNonZero("error", e.Error)
	case NodeStarted:
		o.addNonZero("kind", e.Kind)
	case NodeFailed:
		o.addNonZero("kind", e.Kind)
		o.addMember("duration_ms", max(0, e.Duration).Milliseconds())
		o.addNonZero("error", e.Error)
	case NodeCompleted:
		o.addNonZero("kind", e.Kind)
		o.addMember("duration_ms", max(0, e.Duration).Milliseconds())
		o.addMember("cached", e.Cached)
		o.addNonZero("skipped", e.Skipped && !e.Cached)
		o.addMember("output", e.Output)
	case EdgesResolved:
		o.addNonZero("max_steps", e.MaxSteps)
		o.addMember("output", e.Output)
		o.addMember("next", copyNames(e.Next))
		o.addCandidates(e.Candidates)
	case RunWaiting:
		o.addNonZero("group", e.Waiting.Group)
		o.addNonZero("limit", e.Waiting.Limit)
		o.addMember("holders", e.Waiting.Members)
		o.addNonZero("cancelling", e.Waiting.Cancelling)
	case RunPaused:
		if r := e.Result; r != nil {
			o.addNonZero("reason", r.Reason)
			o.addMember("pending", r.Pending)
			o.addMember("due", r.Due)
			o.addNonZero("paused_at", r.PausedAt)
		}
	case StateUpdated:
		delta := map[string]any{}
		for _, change := range e.Delta {
			delta[change.Key] = change.Value
		}
		o.addMember("delta", delta)
	case LLMUsage:
		if u := e.Usage; u != nil {
			o.addUsage(u)
		}
	case ToolCalled, NodeThinking, NodeEvent, NodeOutput:
		if e.Said != nil {
			o.addSaid(e.Type, e.Said)
		}
	}
}

func (o *object) addSaid(kind EventType, s *Said) {
	switch {
	case kind == ToolCalled:
		o.addMember("tool", s.Name)
		data, _ := s.Data.(map[string]any)
		for _, name := range [...]string{"id", "args", "is_error", "output", "duration_ms"} {
			if value, has := data[name]; has {
				o.addMember(name, value)
			}
		}
		return
	case kind == NodeThinking || s.Type == "text":
		o.addMember("text", s.Text)
		o.addNonZero("final", s.Final)
		o.addNonZero("broken", s.Broken)
		return
	}
	o.addMember("type", s.Type)
	if s.Type == "progress" {
		o.addMember("percent", s.Percent)
	}
	o.addNonZero("message", s.Message)
	switch s.Type {
	case "answer":
		o.addNonZero("by", s.Name)
		o.addMember("question", s.Question)
	case "question":
		o.addMember("question", s.Question)
	case "custom", "element", "dropped":
		o.addNonZero("name", s.Name)
		o.addMember("data", s.Data)
	}
}

func (o *object) addUsage(u *machine.Usage) {
	o.addNonZero("model", u.Model)
	o.addNonZero("role", u.Role)
	o.addMember("input_tokens", u.InputTokens)
	o.addMember("output_tokens", u.OutputTokens)
	o.addNonZero("cached_tokens", u.CachedTokens)
	o.addNonZero("reasoning_tokens", u.ReasoningTokens)
	o.addNonZero("estimated", u.Estimated)
	if u.DurationMS != nil {
		o.addMember("duration_ms", *u.DurationMS)
	}
	o.addMember("cost_usd", u.CostUSD)
}

// addCandidates adds the edges that were considered, except labels and empty conditions.
func (o *object) addCandidates(candidates []machine.Candidate) {
	type candidate struct {
		Edge      int    `json:"edge"`
		ID        string `json:"id,omitempty"`
		To        string `json:"to,omitempty"`
		Condition string `json:"condition,omitempty"`
		When      string `json:"when,omitempty"`
		Fired     bool   `json:"fired"`
		Why       string `json:"why,omitempty"`
	}
	out := make([]candidate, len(candidates))
	for i, c := range candidates {
		out[i] = candidate{c.Edge, c.ID, c.To, c.Condition, c.When, c.Fired, c.Why}
	}
	o.addMember("candidates", out)
}

// object appends the members of a JSON object, after its first one, to dst.
type object struct{ dst []byte }

// addMember appends a member. A value that JSON can't express becomes null.
func (o *object) addMember(key string, v any) {
	o.dst = append(append(append(o.dst, `,"`...), key...), `":`...)
	o.dst = appendValue(o.dst, v)
}

func (o *object) addNonZero(key string, v any) {
	if !reflect.ValueOf(v).IsZero() {
		o.addMember(key, v)
	}
}

// copyNames returns a copy that is not nil, since nil would be null in JSON.
func copyNames(names []string) []string { return append([]string{}, names...) }

// appendValue appends a value, or null if JSON can't express it.
func appendValue(dst []byte, v any) []byte {
	out, err := eval.AppendJSON(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// appendTime appends an RFC 3339 time in UTC with microseconds.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339) // package time is fast with this layout
	point := len(dst) - len("Z")
	dst = strconv.AppendInt(dst[:point], 1_000_000+int64(t.Nanosecond()/1000), 10)
	dst[point] = '.'
	return append(dst, 'Z')
}

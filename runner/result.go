// What a run came to, as `-o json` prints it.

package runner

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Result is the state of a run, finished or not. Its JSON is a public contract.
type Result struct {
	RunID   string          `json:"run_id"`
	Graph   string          `json:"graph"`
	Status  machine.Status  `json:"status"`
	Quality machine.Quality `json:"quality"` // null while paused
	Reason  string          `json:"reason"`
	Limited bool            `json:"limited"`
	Start   string          `json:"start"`
	// Steps counts the executions that have ended, those of subgraphs too.
	Steps int `json:"steps"`
	// MaxSteps is the limit in force.
	MaxSteps int `json:"max_steps"`
	// MaxStateBytes is the limit in force for the state.
	MaxStateBytes int `json:"-"`
	// Path lists node executions in superstep order and, inside one, in
	// declaration order of the branches.
	Path []string `json:"path"`
	// State holds every declared key that has a value; secret keys are masked.
	State  map[string]any   `json:"state"`
	Output any              `json:"output"`
	Error  *machine.Failure `json:"error"`
	// Pending holds the questions that are open, also while other branches run.
	Pending []Pending `json:"pending"`
	// Due is when the first thing that waits goes on by itself: a question's
	// timeout, a wait, a retry delay; nil: nothing does.
	Due *time.Time `json:"due"`
	// Running is what a run that is looked at is at, or was when it crashed.
	Running []RunningNode `json:"running,omitempty"`
	// Unused names the answers given in advance that nothing has asked for.
	Unused []string `json:"-"`
	// PausedAt tells the breakpoint of a paused run.
	PausedAt *PausedAt `json:"paused_at,omitempty"`
	// Partial holds what interrupted nodes had produced, by node id.
	Partial map[string]any `json:"partial,omitempty"`
	// Finally tells what the nodes of finally came to, in order; they are no steps.
	Finally   []FinallyResult `json:"finally,omitempty"`
	Edges     EdgeCounts      `json:"edges"`
	Usage     Usage           `json:"usage"`
	StartedAt time.Time       `json:"started_at"`
	Duration  Milliseconds    `json:"duration_ms"`
	History   []HistoryRecord `json:"history,omitempty"`
}

// Pending is a question that a run waits for.
type Pending struct {
	// Node is the path of the node that asks: outer/inner in a subgraph, and
	// outer[1]/inner in the second element of an `each` of subgraphs.
	Node string `json:"node"`
	// Index is the element of Node that asks, from 0; nil outside of an `each`.
	Index *int `json:"index,omitempty"`
	// Key is the name that a program gave its question; nil for a human node.
	Key *string `json:"key"`
	// Kind is "human", "interrupt" for the question of a program, or "tool" for a
	// call that waits for approval.
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	Schema any    `json:"schema"`
	// Name and Args are the tool and the arguments of a call that waits.
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	// Due is when the time of who is asked ends; nil: never.
	Due *time.Time `json:"due,omitempty"`
}

// Target names the question as an answer does: NODE, NODE[INDEX], NODE:KEY.
func (p *Pending) Target() string {
	target := p.Node
	if p.Index != nil {
		target += "[" + strconv.Itoa(*p.Index) + "]"
	}
	if p.Key != nil {
		target += ":" + *p.Key
	}
	return target
}

// PausedAt is a breakpoint: phase "before" or "after" some nodes.
type PausedAt struct {
	Phase string   `json:"phase"`
	Nodes []string `json:"nodes"`
}

// EdgeCounts lists every edge of the graph with how often it fired. It is made
// on demand, because a graph may have many more edges than a run has steps.
type EdgeCounts struct {
	graph *spec.Graph
	fired machine.EdgeCounts
}

// CountEdges are the edges of a graph, with how often they fired.
func CountEdges(graph *spec.Graph, fired machine.EdgeCounts) EdgeCounts {
	return EdgeCounts{graph, fired}
}

// All returns the edges in declaration order.
func (c EdgeCounts) All() []EdgeCount {
	if c.graph == nil {
		return []EdgeCount{}
	}
	out := make([]EdgeCount, len(c.graph.Edges))
	for i, e := range c.graph.Edges {
		out[i] = EdgeCount{
			Index: i, ID: textOrNil(e.ID), From: e.From.Value, To: e.To.Value, Condition: e.Condition,
			Label: textOrNil(e.Label), Fired: c.fired.Of(i),
		}
	}
	return out
}

// MarshalJSON prints All.
func (c EdgeCounts) MarshalJSON() ([]byte, error) { return json.Marshal(c.All()) }

func textOrNil(t spec.Text) *string {
	if !t.IsSet() {
		return nil
	}
	return &t.Value
}

// EdgeCount says how often an edge fired.
type EdgeCount struct {
	Index     int     `json:"index"`
	ID        *string `json:"id"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Condition string  `json:"condition"`
	Label     *string `json:"label"`
	Fired     int     `json:"fired"`
}

// Usage is what models were asked and what it cost.
type Usage struct {
	LLMCalls     int `json:"llm_calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens are those of InputTokens that providers had cached,
	// ReasoningTokens those of OutputTokens that models thought with.
	CachedTokens    int `json:"cached_tokens,omitempty"`
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Estimated says that some tokens are an estimate: a server reported none, or a
	// call was cut.
	Estimated bool `json:"estimated,omitempty"`
	// CostUSD is in US dollars; nil when the price of some call is not known.
	CostUSD *float64 `json:"cost_usd"`
}

// ExitCode is the exit code of a program that has run this and no more: 0
// completed, 1 failed, 4 stuck, 5 limit, 10 paused, 130 cancelled. With strict, one
// that completed but not cleanly is a failure.
func (r *Result) ExitCode(strict bool) int {
	switch r.Status {
	case machine.Completed:
		switch {
		case r.Limited:
			return 5
		case strict && r.Quality != machine.Clean:
			return 1
		}
		return 0
	case machine.Stuck:
		return 4
	case machine.Limit:
		return 5
	case machine.Paused:
		return 10
	case machine.Cancelled:
		return 130
	case machine.Failed, machine.Running:
		return 1
	}
	return 1
}

func usageOf(u machine.Usage) Usage {
	return Usage{
		LLMCalls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CachedTokens: u.CachedTokens, ReasoningTokens: u.ReasoningTokens, Estimated: u.Estimated, CostUSD: u.CostUSD,
	}
}

// HistoryRecord is one node execution (`--history`).
type HistoryRecord struct {
	// Step is 0 for a node of finally.
	Step    int    `json:"step"`
	Finally bool   `json:"finally,omitempty"`
	Node    string `json:"node"`
	Visit   int    `json:"visit"`
	Outcome string `json:"outcome"`
	Output  any    `json:"output"`
	// Error is why a node failed, with the end of what its program said.
	Error *machine.Failure `json:"error,omitempty"`
	// Reason says why the node ended as it did, where it could have ended in
	// several ways: of an agent, why its loop ended.
	Reason   string       `json:"reason,omitempty"`
	Edges    []int        `json:"edges"`
	Next     []string     `json:"next"`
	Duration Milliseconds `json:"duration_ms"`
}

// Milliseconds is a duration that prints as a whole number of milliseconds.
type Milliseconds time.Duration

// MarshalJSON prints the whole milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, max(0, time.Duration(m).Milliseconds()), 10), nil
}

// pathSoFar are the ids of the nodes whose supersteps have closed.
func (d *driver) pathSoFar() []string {
	path := make([]string, len(d.path))
	for i, n := range d.path {
		path[i] = d.flow.graph.Nodes[n].ID.Value
	}
	return path
}

// result is the run as it stands.
func (d *driver) result() *Result {
	s := d.state
	path := d.pathSoFar()
	values := s.Values()
	d.mask.Learn(values)
	for i := range d.history { // what became a secret after it was told
		d.history[i].Output = d.mask.Value(d.history[i].Output)
		d.history[i].Error = d.mask.Failure(d.history[i].Error)
	}
	// tasks that ran at once are remembered as they ended
	slices.SortStableFunc(d.history, func(a, b HistoryRecord) int {
		return cmp.Compare(orderOf(&a), orderOf(&b))
	})
	return &Result{
		RunID: d.opts.RunID, Graph: d.flow.graph.Name.Value, Status: s.Status, Quality: s.Quality,
		Reason: s.Reason, Limited: s.Limited, Start: d.plan.Start(), Steps: len(d.path) + s.ChildStepsEnded(), MaxSteps: s.MaxSteps(), MaxStateBytes: s.MaxStateBytes(),
		Path: path, State: d.mask.State(values), Output: d.mask.Value(s.Output), Error: d.mask.Failure(s.Failure),
		Pending: []Pending{}, PausedAt: pausedAt(s), Partial: d.partial(), Finally: d.finally(), Edges: CountEdges(d.flow.graph, s.Fired()),
		Usage: usageOf(s.Usage()), StartedAt: d.started.UTC(), Duration: Milliseconds(time.Duration(max(0, d.now()-d.started.UnixNano()))), History: d.history,
	}
}

func pausedAt(s *machine.State) *PausedAt {
	if s.Status != machine.Paused || s.PausedAt == nil {
		return nil
	}
	return &PausedAt{Phase: s.PausedAt.Phase, Nodes: s.PausedAt.Nodes}
}

func (d *driver) partial() map[string]any {
	partial, _ := d.mask.Value(d.state.Partial()).(map[string]any)
	return partial
}

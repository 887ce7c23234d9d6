// Package view has the parts of what a runner tells of a run: those of its Result
// (Pending, EdgeCounts, Usage, HistoryRecord, …), what was said in its conversation
// (Spoken), and where another walk leaves it (Divergence). The JSON of all of them is
// a public contract.
package view

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// FinallyResult is the result of one node of finally.
type FinallyResult struct {
	Node string `json:"node"`
	// Outcome is success, failure, or skipped: the time that a cancelled run has
	// for finally was up before.
	Outcome string           `json:"outcome"`
	Error   *machine.Failure `json:"error"`
}

// EdgeCounts lists every edge of the graph with how often it fired. It is made
// on demand, because a graph may have many more edges than a run has steps.
type EdgeCounts struct {
	graph *spec.Graph
	fired map[int]int
}

// CountEdges returns the edges of a graph; fired says by index how often they fired.
func CountEdges(graph *spec.Graph, fired map[int]int) EdgeCounts {
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
			Label: textOrNil(e.Label), Fired: c.fired[i],
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

// Usage is the usage of models and its cost.
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

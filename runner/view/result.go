// Package view has the parts of a Result (Pending, EdgeCount, Usage, HistoryRecord, …), messages of a
// conversation (Spoken), and the result of a comparison (Divergence). Their JSON is a public contract.
package view

import (
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// FinallyResult is the result of one node of finally.
type FinallyResult struct {
	Node string `json:"node"`
	// Outcome is success, failure, or skipped if the run was cancelled.
	Outcome string           `json:"outcome"`
	Error   *machine.Failure `json:"error"`
}

// CountEdges lists a graph's edges in declaration order. fired has the counts by edge index.
func CountEdges(graph *spec.Graph, fired map[int]int) []EdgeCount {
	out := make([]EdgeCount, len(graph.Edges))
	for i, e := range graph.Edges {
		out[i] = EdgeCount{
			Index: i, ID: textOrNil(&e.ID), From: e.From.Value, To: e.To.Value, Condition: e.Condition,
			Label: textOrNil(&e.Label), Fired: fired[i],
		}
	}
	return out
}

func textOrNil(t *spec.Text) *string {
	if !t.IsSet() {
		return nil
	}
	return &t.Value
}

// EdgeCount counts how often an edge fired.
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
	// CachedTokens are input tokens from providers' caches, ReasoningTokens output tokens for reasoning.
	CachedTokens    int `json:"cached_tokens,omitempty"`
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Estimated means that some tokens are estimated: a server reported none, or a call was cut.
	Estimated bool `json:"estimated,omitempty"`
	// CostUSD is nil if the price of some call is unknown.
	CostUSD *float64 `json:"cost_usd"`
}

// NewUsage converts the usage of a run.
func NewUsage(u machine.Usage) Usage {
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
	// Error is the failure of the node, with the end of its program's output.
	Error *machine.Failure `json:"error,omitempty"`
	// Reason says in a word why the node ended, for example why an agent's loop did.
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

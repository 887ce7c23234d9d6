// What a run came to, as `-o json` prints it.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
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
	Steps   int             `json:"steps"`
	// MaxSteps is the limit in force.
	MaxSteps int `json:"max_steps"`
	// Path lists node executions in superstep order and, inside one, in
	// declaration order of the branches.
	Path []string `json:"path"`
	// State holds every declared key that has a value; secret keys are masked.
	State   map[string]any   `json:"state"`
	Output  any              `json:"output"`
	Error   *machine.Failure `json:"error"`
	Pending []Pending        `json:"pending"`
	// PausedAt tells the breakpoint of a paused run.
	PausedAt *PausedAt `json:"paused_at,omitempty"`
	// Partial holds what interrupted nodes had produced, by node id.
	Partial   map[string]any  `json:"partial,omitempty"`
	Edges     []EdgeCount     `json:"edges"`
	Usage     Usage           `json:"usage"`
	StartedAt time.Time       `json:"started_at"`
	Duration  Milliseconds    `json:"duration_ms"`
	History   []HistoryRecord `json:"history,omitempty"`
}

// Pending is a question that a paused run waits for.
type Pending struct {
	Node   string  `json:"node"`
	Key    *string `json:"key"`
	Kind   string  `json:"kind"`
	Prompt string  `json:"prompt"`
	Schema any     `json:"schema"`
}

// PausedAt is a breakpoint: phase "before" or "after" some nodes.
type PausedAt struct {
	Phase string   `json:"phase"`
	Nodes []string `json:"nodes"`
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
	LLMCalls     int     `json:"llm_calls"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

// HistoryRecord is one node execution (`--history`).
type HistoryRecord struct {
	Step     int          `json:"step"`
	Node     string       `json:"node"`
	Visit    int          `json:"visit"`
	Outcome  string       `json:"outcome"`
	Output   any          `json:"output"`
	Edges    []int        `json:"edges"`
	Next     []string     `json:"next"`
	Duration Milliseconds `json:"duration_ms"`
}

// Milliseconds is a duration that prints as a whole number of milliseconds.
type Milliseconds time.Duration

// MarshalJSON prints the whole milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return strconvMillis(time.Duration(m)), nil
}

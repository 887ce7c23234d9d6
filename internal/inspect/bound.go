// Bounds of steps, model calls, tokens and cost as JSON.

package inspect

import (
	"math"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/spec"
)

// Bound holds bounds of all runs of a graph. Null stands for an unbounded value, explained by
// why, or for an unknown path.
type Bound struct {
	Graph string `json:"graph"`
	// Exact says that runs attain the bounds of steps and model calls.
	Exact    bool  `json:"exact"`
	Steps    Range `json:"steps"`
	LLMCalls Range `json:"llm_calls"`
	Tokens   Range `json:"tokens"`
	CostUSD  Range `json:"cost_usd"`
	// Loops are the loops of the graph with their bounds.
	Loops []lint.Loop `json:"loops"`
	// Exceeded lists the flags whose limits the upper bounds exceed.
	Exceeded []string `json:"exceeded"`
}

// Range is a lower and an upper bound, with the reason of the upper one.
type Range struct {
	Min   float64  `json:"min"`
	Max   *float64 `json:"max"`
	Limit *string  `json:"limit"`
	Why   string   `json:"why,omitempty"`
	// MinPath and MaxPath are paths of runs that attain the bounds, or null.
	MinPath []string `json:"min_path"`
	MaxPath []string `json:"max_path"`
}

// NewBound converts bounds to JSON. The paths belong to runs that the caller has found; exact
// says that runs attain every bound of steps and model calls.
func NewBound(g *spec.Graph, b bound.Bounds, loops []lint.Loop, exact bool) Bound {
	return Bound{
		Graph: g.Name.Value, Exact: exact, Exceeded: []string{},
		Steps: newRange(b.Steps), LLMCalls: newRange(b.LLMCalls), Tokens: newRange(b.Tokens), CostUSD: newRange(b.CostUSD),
		Loops: append([]lint.Loop{}, loops...),
	}
}

// BoundCost returns the highest cost of a number of tokens, however prompts and answers share
// them.
func BoundCost(model string, tokens int) (usd float64, known bool) {
	rates := price.Of(model)
	return rates.MaxTotalCost(tokens)
}

func newRange(r bound.Range) Range {
	out := Range{Min: r.Min, Why: r.Why, MinPath: r.MinPath, MaxPath: r.MaxPath}
	if !math.IsInf(r.Max, 1) {
		out.Max = &r.Max
	}
	if r.Limit != "" {
		out.Limit = new("limits." + r.Limit)
	}
	return out
}

// How many steps, model calls and tokens a run takes, and what it costs.

package inspect

import (
	"math"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/spec"
)

// Bound is what is known of every run of a graph. A null is a value that nothing bounds (why
// says what would), or a path that is not known or would say nothing.
type Bound struct {
	Graph string `json:"graph"`
	// Exact says that runs were found that take as much as the bounds of steps and
	// model calls say.
	Exact    bool  `json:"exact"`
	Steps    Range `json:"steps"`
	LLMCalls Range `json:"llm_calls"`
	Tokens   Range `json:"tokens"`
	CostUSD  Range `json:"cost_usd"`
	// Loops are those of the graph, with what bounds them.
	Loops []Loop `json:"loops"`
	// Exceeded lists the flags whose value the upper bound is above.
	Exceeded []string `json:"exceeded"`
}

// Loop is a loop: bounded_by is sure to bound it, undecided bounds the rest if it
// comes about; endless is a cycle that nothing is sure to end but max_steps, or null.
type Loop struct {
	Nodes     []string `json:"nodes"`
	BoundedBy []string `json:"bounded_by"`
	Undecided []string `json:"undecided"`
	Endless   []string `json:"endless"`
}

// Range is a lower and an upper bound, and what sets the upper one.
type Range struct {
	Min   float64  `json:"min"`
	Max   *float64 `json:"max"`
	Limit *string  `json:"limit"`
	Why   string   `json:"why,omitempty"`
	// MinPath and MaxPath are runs that were found and attain the bounds, or null.
	MinPath []string `json:"min_path"`
	MaxPath []string `json:"max_path"`
}

// NewBound is a bound as JSON. Its paths are those that the caller has found runs for,
// and exact says that there is one for every bound of steps and model calls.
func NewBound(g *spec.Graph, b lint.Bounds, exact bool) Bound {
	r := Bound{
		Graph: g.Name.Value, Exact: exact, Exceeded: []string{},
		Steps: rangeOf(b.Steps), LLMCalls: rangeOf(b.LLMCalls), Tokens: rangeOf(b.Tokens), CostUSD: rangeOf(b.CostUSD),
		Loops: []Loop{},
	}
	for _, l := range b.Loops {
		r.Loops = append(r.Loops, Loop(l))
	}
	return r
}

// Dearest is the most that so many tokens of a model can cost, however they are
// shared between prompts and answers.
func Dearest(model string, tokens int) (usd float64, known bool) {
	prices := price.Of(model)
	return prices.Most(tokens)
}

func rangeOf(r lint.Range) Range {
	out := Range{Min: r.Min, Why: r.Why, MinPath: r.MinPath, MaxPath: r.MaxPath}
	if !math.IsInf(r.Max, 1) {
		out.Max = &r.Max
	}
	if r.Limit != "" {
		limit := "limits." + r.Limit
		out.Limit = &limit
	}
	return out
}

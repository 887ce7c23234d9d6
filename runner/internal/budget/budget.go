// Package budget counts what the calls of models come to, and holds them to the limits
// of their run and of those around it (GraphSpec §2, limits).
package budget

import (
	"fmt"
	"sync"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// usualAnswer is how long an answer may get, in tokens, of which nobody has
// said how long it may get.
const usualAnswer = 4096

// Budget is what a run may still spend. A subgraph spends from its own and from
// those of the runs around it, which share one lock. It is safe for concurrent use.
type Budget struct {
	mu    *sync.Mutex
	outer *Budget
	// maxTokens and maxCost are the limits; 0: none.
	maxTokens int
	maxCost   float64
	// tokens and cost are spent, heldTokens and heldCost set aside.
	tokens, heldTokens int
	cost, heldCost     float64
}

// New is the budget of a run with these limits; outer is that of the run around it,
// nil for one of its own.
func New(limits *spec.Limits, outer *Budget) *Budget {
	b := &Budget{outer: outer, maxTokens: limits.MaxTokens, maxCost: limits.MaxCostUSD}
	if outer != nil {
		b.mu = outer.mu
	} else {
		b.mu = &sync.Mutex{}
	}
	return b
}

// Reserve sets aside what a call may come to at worst. The error is a *machine.Failure
// of kind budget.
// An answer of any length is cut to what is left.
func (b *Budget) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	output := r.Output
	above := 0
	for at := b; at != nil; at = at.outer {
		if err := at.fit(&r, &output); err != nil {
			err.Above = above
			return nil, err
		}
		above++
	}
	tokens := r.Input + output
	cost, _ := r.Cost(r.Input, output)
	for at := b; at != nil; at = at.outer {
		at.heldTokens += tokens
		at.heldCost += cost
	}
	return handler.NewReserved(output, func(call handler.Usage) { b.settle(tokens, cost, &call) }), nil
}

// fit checks a call against one budget, and cuts its output to what fits.
func (b *Budget) fit(r *handler.Reservation, output *int) *machine.Failure {
	if b.maxTokens == 0 && b.maxCost == 0 {
		return nil
	}
	longest := *output
	if longest == 0 {
		longest = usualAnswer
	}
	if b.maxTokens > 0 {
		left := b.maxTokens - b.tokens - b.heldTokens
		if r.Output == 0 {
			longest = min(longest, left-r.Input)
		}
		if longest < 1 || r.Input+longest > left {
			return overBudget(fmt.Sprintf("the next call may take %d tokens", r.Input+max(longest, 1)),
				fmt.Sprintf("%d of limits.max_tokens (%d) are left", max(0, left), b.maxTokens))
		}
	}
	if b.maxCost > 0 {
		left := b.maxCost - b.cost - b.heldCost
		worst, known := r.Cost(r.Input, longest)
		if !known {
			return overBudget("the price of the model is not known", "limits.max_cost_usd can't be kept; use limits.max_tokens")
		}
		base, _ := r.Cost(r.Input, 0)
		if worst > left && r.Output == 0 && base < left {
			longest = int(float64(longest) * (left - base) / (worst - base))
			worst, _ = r.Cost(r.Input, longest)
		}
		if longest < 1 || worst > left {
			return overBudget(fmt.Sprintf("the next call may cost $%.6f", worst),
				fmt.Sprintf("$%.6f of limits.max_cost_usd ($%g) are left", max(0, left), b.maxCost))
		}
	}
	*output = longest
	return nil
}

func overBudget(what, why string) *machine.Failure {
	return &machine.Failure{Kind: "budget", Message: what + ", and " + why}
}

// settle gives room back and counts what a call came to.
func (b *Budget) settle(tokens int, cost float64, call *handler.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := b; at != nil; at = at.outer {
		at.heldTokens -= tokens
		at.heldCost -= cost
		if at.heldTokens == 0 {
			at.heldCost = 0 // no rounding is left over
		}
		at.Count(call)
	}
}

// Count adds a call that was made without a reservation: before the run was taken up.
func (b *Budget) Count(call *handler.Usage) {
	b.tokens += call.InputTokens + call.OutputTokens
	b.cost += call.Charged
}

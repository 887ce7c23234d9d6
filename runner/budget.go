// Budgets: what the calls of models may come to (GraphSpec §2, limits).

package runner

import (
	"fmt"
	"sync"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// usualAnswer is how long an answer may get, in tokens, of which nobody has
// said how long it may get.
const usualAnswer = 4096

// budget is what a run may still spend. A subgraph spends from its own and from
// those of the runs around it, which share one lock.
type budget struct {
	mu    *sync.Mutex
	outer *budget
	// maxTokens and maxCost are the limits; 0: none.
	maxTokens int
	maxCost   float64
	// tokens and cost are spent, heldTokens and heldCost set aside.
	tokens, heldTokens int
	cost, heldCost     float64
}

func newBudget(limits *spec.Limits, outer *budget) *budget {
	b := &budget{outer: outer, maxTokens: limits.MaxTokens, maxCost: limits.MaxCostUSD}
	if outer != nil {
		b.mu = outer.mu
	} else {
		b.mu = &sync.Mutex{}
	}
	return b
}

// reserve sets aside what a call may come to at worst, or fails with kind budget.
// An answer of any length is cut to what is left.
func (b *budget) reserve(r handler.Reservation) (*handler.Reserved, error) {
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
func (b *budget) fit(r *handler.Reservation, output *int) *Failure {
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

func overBudget(what, why string) *Failure {
	return &Failure{Kind: "budget", Message: what + ", and " + why}
}

// settle gives room back and counts what a call came to.
func (b *budget) settle(tokens int, cost float64, call *handler.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := b; at != nil; at = at.outer {
		at.heldTokens -= tokens
		at.heldCost -= cost
		if at.heldTokens == 0 {
			at.heldCost = 0 // no rounding is left over
		}
		at.count(call)
	}
}

func (b *budget) count(call *handler.Usage) {
	b.tokens += call.InputTokens + call.OutputTokens
	b.cost += call.Charged
}

// Budgets of model calls (GraphSpec §2, limits).

package runner

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// assumedAnswerTokens is the assumed length of an answer without a limit.
const assumedAnswerTokens = 4096

// budget enforces the limits of a graph on model calls, and the limits of all graphs around it.
// All share one lock. It is safe for concurrent use.
type budget struct {
	mu    *sync.Mutex
	outer *budget
	// maxTokens and maxCost are the limits, or 0.
	maxTokens int
	maxCost   float64
	// tokens and cost are spent, heldTokens and heldCost are reserved.
	tokens, heldTokens int
	cost, heldCost     float64
}

// newBudget returns the budget of a graph. outer is the budget around it, or nil.
func newBudget(limits *spec.Limits, outer *budget) *budget {
	b := &budget{mu: &sync.Mutex{}, outer: outer, maxTokens: limits.MaxTokens, maxCost: limits.MaxCostUSD}
	if outer != nil {
		b.mu = outer.mu
	}
	return b
}

// Reserve reserves a call's highest cost, and limits its answer to what is left. The error is a
// *Failure of kind budget.
func (b *budget) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	output := r.Output
	above := 0
	for at := b; at != nil; at = at.outer {
		if err := at.checkCall(&r, &output); err != nil {
			err.Above = above
			return nil, err
		}
		above++
	}
	tokens := r.Input + output
	cost := r.Cost(output)
	for at := b; at != nil; at = at.outer {
		at.heldTokens += tokens
		at.heldCost += cost
	}
	return handler.NewReserved(output, func(call handler.Usage) { b.settleCall(tokens, cost, &call) }), nil
}

// checkCall checks a call against one budget, and limits its output to what fits.
func (b *budget) checkCall(r *handler.Reservation, output *int) *Failure {
	if b.maxTokens == 0 && b.maxCost == 0 {
		return nil
	}
	longest := cmp.Or(*output, assumedAnswerTokens)
	if b.maxTokens > 0 {
		left := b.maxTokens - b.tokens - b.heldTokens
		if r.Output == 0 {
			longest = min(longest, left-r.Input)
		}
		if longest < 1 || r.Input+longest > left {
			return budgetFailure(fmt.Sprintf("the next call may take %d tokens", r.Input+max(longest, 1)),
				fmt.Sprintf("%d of limits.max_tokens (%d) are left", max(0, left), b.maxTokens))
		}
	}
	if b.maxCost > 0 {
		left := b.maxCost - b.cost - b.heldCost
		worst, least := r.Cost(longest), r.Cost(1)
		if !r.Known {
			return budgetFailure("the price of the model is not known", "limits.max_cost_usd can't be kept; use limits.max_tokens")
		}
		if worst > left && r.Output == 0 && least <= left {
			longest = 1 + int(float64(longest-1)*(left-least)/(worst-least)+1e-9)
			worst = r.Cost(longest)
		}
		if longest < 1 || worst > left {
			return budgetFailure(fmt.Sprintf("the next call may cost $%.6f", worst),
				fmt.Sprintf("$%.6f of limits.max_cost_usd ($%g) are left", max(0, left), b.maxCost))
		}
	}
	*output = longest
	return nil
}

func budgetFailure(what, why string) *Failure {
	return &Failure{Kind: "budget", Message: what + ", and " + why}
}

// settleCall releases a reservation and counts the call.
func (b *budget) settleCall(tokens int, cost float64, call *handler.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := b; at != nil; at = at.outer {
		at.heldTokens -= tokens
		at.heldCost -= cost
		if at.heldTokens == 0 {
			at.heldCost = 0 // drop rounding errors
		}
		at.addCall(call)
	}
}

func (b *budget) addCall(call *handler.Usage) {
	b.tokens += call.InputTokens + call.OutputTokens
	b.cost += call.Charged
}

// budgetFor returns the budget of scopes[0]. The scopes are given innermost first.
func (d *driver) budgetFor(scopes []*machine.Scope) *budget {
	if len(scopes) == 0 {
		return nil
	}
	own := d.budgets[scopes[0].ID]
	if own == nil {
		own = newBudget(&scopes[0].Plan().Graph.Limits, d.budgetFor(scopes[1:]))
		own.addCall(&scopes[0].Spent)
		d.budgets[scopes[0].ID] = own
	}
	return own
}

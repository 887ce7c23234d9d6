package runner

import (
	"errors"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Concurrent calls can't exceed the budget together, even if each one alone fits.
func TestBudgetHoldsForConcurrentCalls(t *testing.T) {
	outer := newBudget(&spec.Limits{MaxTokens: 1000}, nil)
	inner := newBudget(&spec.Limits{MaxTokens: 600, MaxCostUSD: 1}, outer)
	var mu sync.Mutex
	var held []*handler.Reserved
	var group sync.WaitGroup
	for i := range 40 {
		b := outer
		if i%2 == 0 {
			b = inner
		}
		group.Go(func() {
			if r, err := b.Reserve(handler.Reservation{Input: 50, Output: 50, Known: true, Base: 0.05, Each: 0.001}); err == nil {
				mu.Lock()
				held = append(held, r)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(held) != 10 || outer.heldTokens != 1000 || inner.heldTokens > 600 {
		t.Fatalf("%d calls at once, %d tokens of 1000, %d of 600", len(held), outer.heldTokens, inner.heldTokens)
	}
	for _, r := range held {
		r.Settle(handler.Usage{InputTokens: 10, OutputTokens: 10, Charged: 0.02})
		r.Settle(handler.Usage{InputTokens: 10}) // a second call counts nothing
	}
	if outer.tokens != 200 || outer.heldTokens != 0 || outer.heldCost != 0 || inner.heldTokens != 0 || inner.tokens != int(inner.cost*1000+0.5) {
		t.Errorf("%d tokens spent, %d held; inner %d and $%g", outer.tokens, outer.heldTokens, inner.tokens, inner.cost)
	}
}

// Unbounded answers are limited to the rest of the budget, by tokens or by cost.
func TestBudgetCutsAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		limits        spec.Limits
		input, output int
		want          int // -1: refused
	}{
		"no limit":             {spec.Limits{}, 10, 0, 0},
		"usual":                {spec.Limits{MaxTokens: 100_000}, 10, 0, assumedAnswerTokens},
		"what is left":         {spec.Limits{MaxTokens: 100}, 10, 0, 90},
		"as asked":             {spec.Limits{MaxTokens: 100}, 10, 20, 20},
		"asked for too much":   {spec.Limits{MaxTokens: 100}, 10, 91, -1},
		"no room":              {spec.Limits{MaxTokens: 100}, 100, 0, -1},
		"what the money gives": {spec.Limits{MaxCostUSD: 1}, 10, 0, 90},
		"too dear":             {spec.Limits{MaxCostUSD: 1}, 10, 91, -1},
		"too dear to ask":      {spec.Limits{MaxCostUSD: 1}, 100, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := newBudget(&c.limits, nil).Reserve(handler.Reservation{Input: c.input, Output: c.output, Known: true, Base: float64(c.input) / 100, Each: 0.01})
			switch {
			case c.want < 0 && (err == nil || !isOverBudget(err)):
				t.Errorf("it fits: %+v, %v", r, err)
			case c.want >= 0 && err != nil:
				t.Error(err)
			case c.want >= 0 && r.Output != c.want:
				t.Errorf("%d tokens, want %d", r.Output, c.want)
			}
		})
	}
}

func isOverBudget(err error) bool {
	var failure *machine.Failure
	return errors.As(err, &failure) && failure.Kind == "budget"
}

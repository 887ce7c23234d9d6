// Trying a call again: the blocks of a tool's `retry`.

package tool

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// retry is one block.
type retry struct {
	maxAttempts      int
	initial, longest time.Duration
	backoff          float64
	on               []string // kinds; none: every kind
	when             *eval.Program
}

// readRetries reads a block, or a list of them.
func readRetries(given any) ([]retry, error) {
	list, isList := given.([]any)
	if !isList && given != nil {
		list = []any{given}
	}
	var out []retry
	for _, entry := range list {
		fields := object(entry)
		r := retry{maxAttempts: 3, initial: time.Second, longest: 30 * time.Second, backoff: 2}
		if n, ok := fields["max_attempts"].(int); ok {
			r.maxAttempts = n
		}
		switch n := fields["backoff"].(type) {
		case int:
			r.backoff = float64(n)
		case float64:
			r.backoff = n
		}
		for key, into := range map[string]*time.Duration{"initial_interval": &r.initial, "max_interval": &r.longest} {
			if t := text(fields[key]); t != "" {
				d, err := time.ParseDuration(t)
				if err != nil {
					return nil, fmt.Errorf("retry: %s: %w", key, err)
				}
				*into = d
			}
		}
		switch on := fields["on"].(type) {
		case string:
			r.on = []string{on}
		case []any:
			for _, kind := range on {
				r.on = append(r.on, text(kind))
			}
		}
		if when := text(fields["when"]); when != "" {
			program, err := eval.RetryScope().Compile(when, eval.Condition)
			if err != nil {
				return nil, fmt.Errorf("retry: when: %w", err)
			}
			r.when = program
		}
		out = append(out, r)
	}
	return out, nil
}

// Again says whether a call that has failed so many times is made again, and after
// how long: as the first block for failures of its kind says.
func (r *Registry) Again(name string, failed *Error, times int) (delay time.Duration, attempts int, again bool) {
	decl, _, err := r.find(name)
	if err != nil {
		return 0, 0, false
	}
	for i := range decl.retries {
		b := &decl.retries[i]
		if len(b.on) > 0 && !slices.Contains(b.on, failed.kind()) || !b.holds(name, failed, times) {
			continue
		}
		wait := float64(b.initial) * math.Pow(b.backoff, float64(times-1))
		return time.Duration(min(wait, float64(b.longest))), b.maxAttempts, times < b.maxAttempts
	}
	return 0, 0, false
}

// holds reports whether the block's condition holds for a failure. A condition that fails to
// evaluate does not hold.
func (b *retry) holds(name string, failed *Error, times int) bool {
	if b.when == nil {
		return true
	}
	details := failed.Details
	if details == nil {
		details = map[string]any{}
	}
	var vm eval.VM
	holds, err := vm.Test(b.when, map[string]any{"error": map[string]any{
		"kind": failed.kind(), "message": failed.Message, "node": name, "attempt": times, "details": details,
	}})
	return err == nil && holds
}

func (e *Error) kind() string {
	if e.Kind == "" {
		return "tool"
	}
	return e.Kind
}

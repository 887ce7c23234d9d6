// Retries of calls, by the key `retry` of tools.

package tool

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
)

// retry is a block of `retry`.
type retry struct {
	MaxAttempts int           `key:"max_attempts" default:"3"`
	Initial     time.Duration `key:"initial_interval" default:"1s"`
	Longest     time.Duration `key:"max_interval" default:"30s"`
	Backoff     float64       `key:"backoff" default:"2"`
	On          []string      `key:"on"` // kinds; none means every kind
	When        string        `key:"when"`

	when *eval.Program
}

// readRetries reads a block or a list of blocks.
func readRetries(given any) ([]retry, error) {
	list, isList := given.([]any)
	if !isList && given != nil {
		list = []any{given}
	}
	out := make([]retry, len(list))
	for i, entry := range list {
		block, _ := entry.(map[string]any)
		if err := keys.Decode(block, &out[i]); err != nil {
			return nil, fmt.Errorf("retry: %w", err)
		}
		if when := out[i].When; when != "" {
			program, err := eval.RetryScope().Compile(when, eval.Condition)
			if err != nil {
				return nil, fmt.Errorf("retry: when: %w", err)
			}
			out[i].when = program
		}
	}
	return out, nil
}

// Again reports whether a call that has failed so many times is made again, and its
// delay, by the first block for failures of its kind.
func (r *Registry) Again(name string, failed *Error, times int) (delay time.Duration, attempts int, again bool) {
	decl, _, err := r.find(name)
	if err != nil {
		return 0, 0, false
	}
	kind := cmp.Or(failed.Kind, "tool")
	for i := range decl.retries {
		b := &decl.retries[i]
		if (len(b.On) == 0 || slices.Contains(b.On, kind)) && b.holds(name, kind, failed, times) {
			wait := float64(b.Initial) * math.Pow(b.Backoff, float64(times-1))
			return time.Duration(min(wait, float64(b.Longest))), b.MaxAttempts, times < b.MaxAttempts
		}
	}
	return 0, 0, false
}

// holds evaluates the block's condition. One that fails does not hold.
func (b *retry) holds(name, kind string, failed *Error, times int) bool {
	if b.when == nil {
		return true
	}
	details := failed.Details
	if details == nil {
		details = map[string]any{}
	}
	var vm eval.VM
	holds, err := vm.Test(b.when, map[string]any{"error": map[string]any{
		"kind": kind, "message": failed.Message, "node": name, "attempt": times, "details": details,
	}})
	return err == nil && holds
}

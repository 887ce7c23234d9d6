// Attempts: the result of a task as plain data, also when it ran elsewhere.

package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
)

// Try runs a handler on the task once. The result is plain data; a panic is a failure.
func (t *Task) Try(ctx context.Context, run Handler) (out *handler.Attempt) {
	defer func() {
		if v := recover(); v != nil {
			out = &handler.Attempt{Failure: toFailure(ctx, fmt.Errorf("%w: %v", errHandlerPanic, v))}
		}
	}()
	output, err := run.Run(ctx, t)
	var asked *handler.Parked
	if errors.As(err, &asked) {
		asks, bad := asked.Plain()
		if bad == nil {
			return &handler.Attempt{Asks: asks}
		}
		err = bad
	}
	if err != nil {
		return &handler.Attempt{Failure: plainFailure(toFailure(ctx, err))}
	}
	plain, err := eval.Canonical(output)
	if err != nil {
		return &handler.Attempt{Failure: &Failure{Kind: "invalid_output", Message: "output is not plain data: " + err.Error()}}
	}
	return &handler.Attempt{Output: plain, Talk: t.Talk.Added()}
}

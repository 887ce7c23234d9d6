// Hooks: functions of a Go program around what a run does.

package runner

import (
	"context"
	"errors"
)

// Hooks are called around every attempt of a node that a handler runs (set,
// pass, wait and fail run inside the machine: watch them with a Sink). A nil
// function is skipped. Hooks of parallel nodes are called concurrently.
type Hooks struct {
	// BeforeNode may fail the attempt: its error is treated like the handler's.
	BeforeNode func(ctx context.Context, task *Task) error
	// AfterNode sees the output of a successful attempt and returns the output
	// to use, or an error that fails the attempt.
	AfterNode func(ctx context.Context, task *Task, output any) (any, error)
	// OnError sees the failure of an attempt, before any retry.
	OnError func(ctx context.Context, task *Task, failure *Failure)
}

// Decider answers llm_decide edges.
type Decider interface {
	// Decide names one of the candidates' targets and says why. The task is the
	// execution that is decided about; its Config, Input and State are absent.
	Decide(ctx context.Context, task *Task, choice Choice) (target, reasoning string, err error)
}

// withHooks runs an attempt inside the node's own hooks, then the runner's.
func (d *driver) withHooks(ctx context.Context, task *Task, handler Handler) (any, error) {
	hooks := []Hooks{d.flow.runner.cfg.NodeHooks[task.Node], d.flow.runner.cfg.Hooks}
	output, err := d.runHooked(ctx, task, handler, hooks)
	var parked *parking
	if err == nil || errors.As(err, &parked) {
		return output, err
	}
	failure := asFailure(ctx, err)
	for _, h := range hooks {
		if h.OnError != nil {
			h.OnError(ctx, task, failure)
		}
	}
	return nil, failure
}

func (d *driver) runHooked(ctx context.Context, task *Task, handler Handler, hooks []Hooks) (any, error) {
	for _, h := range hooks {
		if h.BeforeNode != nil {
			if err := h.BeforeNode(ctx, task); err != nil {
				return nil, err
			}
		}
	}
	output, err := handler.Run(ctx, task)
	for _, h := range hooks {
		if err == nil && h.AfterNode != nil {
			output, err = h.AfterNode(ctx, task, output)
		}
	}
	return output, err
}

// Hooks of Go programs.

package runner

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/runner/handler"
)

// Hooks are called around every attempt of a node with a handler. For a graph node, only BeforeNode is
// called. Nil functions are skipped. Parallel nodes call hooks concurrently.
type Hooks struct {
	// BeforeNode may return the output of the attempt. Then the handler and further BeforeNodes are
	// skipped. An error counts like the handler's.
	BeforeNode func(ctx context.Context, task *Task) (instead *Reply, err error)
	// AfterNode receives a successful output, and returns the output to use or a failure.
	AfterNode func(ctx context.Context, task *Task, output any) (any, error)
	// OnError receives the failure of an attempt, before a retry. If it returns a reply, the attempt
	// succeeds. Cancelled and timed-out attempts stay failures.
	OnError func(ctx context.Context, task *Task, failure *Failure) (recovered *Reply)
	// BeforeTool receives a tool call before it is made. If it returns an error, that is the result of
	// the call.
	BeforeTool func(ctx context.Context, task *Task, call handler.ToolCall) error
	// AfterTool receives the result of a tool call and returns the result to use.
	AfterTool func(ctx context.Context, task *Task, call handler.ToolCall, result handler.ToolResult) handler.ToolResult
	// BeforeModel receives a model call before it is made, and may change System and Messages. If it
	// returns an error, the call fails.
	BeforeModel func(ctx context.Context, task *Task, call *handler.ModelCall) error
	// AfterModel receives the answer of a model, or the error of the call.
	AfterModel func(ctx context.Context, task *Task, call *handler.ModelCall, answer handler.Message, err error)
}

// Reply is an output that a hook returns. It must marshal to JSON.
type Reply struct{ Output any }

func (c *Config) hasBeforeNode() bool {
	for _, h := range c.NodeHooks {
		if h.BeforeNode != nil {
			return true
		}
	}
	return c.Hooks.BeforeNode != nil
}

// errGraphBegins means that no hook answered for a graph node, so its graph begins.
var errGraphBegins = errors.New("the graph begins")

// beginGraph is the handler of graph nodes, since the machine runs their graphs.
func beginGraph(context.Context, *Task) (any, error) { return nil, errGraphBegins }

// Decider chooses between llm_decide edges.
type Decider interface {
	// Decide returns the target of one candidate, and the reasoning. The task is the step that has
	// ended, without Config, Input and State.
	Decide(ctx context.Context, task *Task, choice handler.Choice) (target, reasoning string, err error)
}

// runWithHooks runs an attempt inside the hooks of its task.
func (d *driver) runWithHooks(ctx context.Context, task *Task, run Handler) (any, error) {
	output, err := runHooked(ctx, task, run)
	if err == nil || errors.Is(err, errGraphBegins) || errors.Is(err, errHosted) || handler.IsInterrupted(err) {
		return output, err
	}
	failure := toFailure(ctx, err)
	for _, h := range task.Hooks {
		if h.OnError == nil {
			continue
		}
		if recovered := h.OnError(ctx, task, failure); recovered != nil {
			return recovered.Output, nil
		}
	}
	return nil, failure
}

// runHooked runs the handler between BeforeNode and AfterNode, unless a BeforeNode answers or fails.
func runHooked(ctx context.Context, task *Task, run Handler) (output any, err error) {
	var instead *Reply
	for _, h := range task.Hooks {
		if h.BeforeNode == nil || instead != nil {
			continue
		}
		if instead, err = h.BeforeNode(ctx, task); err != nil {
			return nil, err
		}
	}
	if instead != nil {
		output = instead.Output
	} else if output, err = run.Run(ctx, task); err != nil {
		return nil, err
	}
	for _, h := range task.Hooks {
		if h.AfterNode == nil {
			continue
		}
		if output, err = h.AfterNode(ctx, task, output); err != nil {
			return nil, err
		}
	}
	return output, nil
}

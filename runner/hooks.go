// Hooks: functions of a Go program around what a run does.

package runner

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/runner/handler"
)

// Hooks are called around every attempt of a node that a handler runs (set,
// pass, wait and fail run inside the machine: watch them with a Sink). Of a graph node,
// only BeforeNode is called, if the run began with hooks. A nil function is skipped.
// Hooks of parallel nodes are called concurrently.
type Hooks struct {
	// BeforeNode may answer in the node's place: the handler is then not called, no
	// later BeforeNode is, and the answer is the output that AfterNode sees. It may
	// fail the attempt: its error is treated like the handler's. With neither, nil
	// and nil, the attempt goes on.
	BeforeNode func(ctx context.Context, task *Task) (instead *Reply, err error)
	// AfterNode sees the output of a successful attempt and returns the output
	// to use, or an error that fails the attempt.
	AfterNode func(ctx context.Context, task *Task, output any) (any, error)
	// OnError sees the failure of an attempt, before any retry. With a reply the
	// attempt has succeeded with that output, and no later OnError is called; nil:
	// it has failed. A cancelled attempt and one that is out of time can't be
	// recovered.
	OnError func(ctx context.Context, task *Task, failure *Failure) (recovered *Reply)
	// BeforeTool sees a call of a tool before it is made. With an error the tool
	// is not called, and the error is its result.
	BeforeTool func(ctx context.Context, task *Task, call handler.ToolCall) error
	// AfterTool sees the result of a call of a tool and returns the result to use.
	AfterTool func(ctx context.Context, task *Task, call handler.ToolCall, result handler.ToolResult) handler.ToolResult
	// BeforeModel sees a call of a model before it is made, and may change what is
	// asked: System and Messages of call. With an error the call fails, like one that
	// the model failed.
	BeforeModel func(ctx context.Context, task *Task, call *handler.ModelCall) error
	// AfterModel sees the answer of a model, or why there is none.
	AfterModel func(ctx context.Context, task *Task, call *handler.ModelCall, answer handler.Message, err error)
}

// Reply is the output that a hook gives in the place of a node's own: plain data,
// or anything that marshals to JSON. It is checked like any output.
type Reply struct{ Output any }

// hooks are the node's own, then the runner's.
func (d *driver) hooks(node string) []Hooks {
	return []Hooks{d.flow.runner.cfg.NodeHooks[node], d.flow.runner.cfg.Hooks}
}

// hooked reports whether a hook may answer in the place of a node.
func (c *Config) hooked() bool {
	for _, h := range c.NodeHooks {
		if h.BeforeNode != nil {
			return true
		}
	}
	return c.Hooks.BeforeNode != nil
}

// errBegins says that no hook answered for a graph node.
var errBegins = errors.New("the graph begins")

// beginsGraph is the handler of graph nodes, whose graph the machine runs.
func beginsGraph(context.Context, *Task) (any, error) { return nil, errBegins }

// Decider answers llm_decide edges.
type Decider interface {
	// Decide names one of the candidates' targets and says why. The task is the
	// execution that is decided about; its Config, Input and State are absent.
	Decide(ctx context.Context, task *Task, choice handler.Choice) (target, reasoning string, err error)
}

// withHooks runs an attempt inside the hooks of its task.
func (d *driver) withHooks(ctx context.Context, task *Task, run Handler) (any, error) {
	output, err := runHooked(ctx, task, run)
	if err == nil || errors.Is(err, errBegins) || errors.Is(err, errHosted) || handler.Waits(err) {
		return output, err
	}
	failure := asFailure(ctx, err)
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

// runHooked runs the handler unless a hook answers or fails before it, and then the hooks after
// it.
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

// Hooks around calls of tools and models.

package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// emit reports an event of a task, unless nobody listens.
func emit(task *runner.Task, said runner.Said) {
	if task.Emit != nil {
		task.Emit(said)
	}
}

func warn(task *runner.Task, format string, args ...any) {
	emit(task, runner.Said{Type: "warning", Message: fmt.Sprintf(format, args...)})
}

// before calls the hooks before a tool call and returns the answer if one refuses it.
func before(ctx context.Context, task *runner.Task, c toolCall) *answer {
	for _, h := range task.Hooks {
		if h.BeforeTool == nil {
			continue
		}
		if err := h.BeforeTool(ctx, task, c.ToolCall); err != nil {
			return &answer{Output: err.Error(), IsError: true}
		}
	}
	return nil
}

// after calls the hooks after a tool call.
func after(ctx context.Context, task *runner.Task, c toolCall, out answer) answer {
	for _, h := range task.Hooks {
		if h.AfterTool == nil {
			continue
		}
		result := h.AfterTool(ctx, task, c.ToolCall, out)
		plain, err := eval.Canonical(result.Output)
		if err != nil {
			return answer{Output: fmt.Sprintf("a hook's result is not plain data: %v", err), IsError: true}
		}
		result.Output = plain
		out = result
	}
	return out
}

// modelHooks are the hooks around one call of a model.
type modelHooks struct {
	task *runner.Task
	req  *model.Request
	name string
}

// before calls the hooks before a model call and returns the estimated tokens of the
// request after them.
func (m modelHooks) before(ctx context.Context, size int) (int, error) {
	for _, h := range m.task.Hooks {
		if h.BeforeModel == nil {
			continue
		}
		call := m.call()
		if err := h.BeforeModel(ctx, m.task, call); err != nil {
			return 0, err
		}
		m.req.System, m.req.Messages = call.System, model.Paired(call.Messages)
		size = price.RequestTokens(m.req)
	}
	return size, nil
}

func (m modelHooks) after(ctx context.Context, response *model.Response, err error) {
	var said model.Message
	if response != nil {
		said = response.Message()
	}
	for _, h := range m.task.Hooks {
		if h.AfterModel != nil {
			h.AfterModel(ctx, m.task, m.call(), said, err)
		}
	}
}

func (m modelHooks) call() *handler.ModelCall {
	return &handler.ModelCall{Model: m.name, Role: m.req.Caller.Role, System: m.req.System, Messages: slices.Clone(m.req.Messages)}
}

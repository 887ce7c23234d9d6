// Hooks around calls of tools and models.

package node

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// hookCall returns a tool call for hooks.
func (c *toolCall) hookCall() handler.ToolCall {
	return handler.ToolCall{ID: c.id, Name: c.Name, Args: c.Args, Malformed: c.Malformed}
}

// before calls the hooks before a tool call and returns the answer if one refuses it.
func before(ctx context.Context, task *runner.Task, c toolCall) *answer {
	for _, h := range task.Hooks {
		if h.BeforeTool == nil {
			continue
		}
		if err := h.BeforeTool(ctx, task, c.hookCall()); err != nil {
			return &answer{output: err.Error(), isError: true}
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
		result := h.AfterTool(ctx, task, c.hookCall(), handler.ToolResult{Output: out.output, IsError: out.isError, Details: out.details})
		plain, err := eval.Canonical(result.Output)
		if err != nil {
			return answer{output: fmt.Sprintf("a hook's result is not plain data: %v", err), isError: true}
		}
		out = answer{plain, result.IsError, result.Details}
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
		m.take(call)
		size = price.RequestTokens(m.req)
	}
	return size, nil
}

// take puts a hook's changes into the request. Unchanged messages keep what only their
// adapter understands.
func (m modelHooks) take(call *handler.ModelCall) {
	before := m.req.Messages
	m.req.System = call.System
	m.req.Messages = make([]model.Message, 0, len(call.Messages))
	for i := range call.Messages {
		message := &call.Messages[i]
		at := slices.IndexFunc(before, func(b model.Message) bool { return reflect.DeepEqual(spoken(b), *message) })
		if at < 0 {
			m.req.Messages = append(m.req.Messages, heard(message))
			continue
		}
		m.req.Messages = append(m.req.Messages, before[at])
		before = before[at+1:]
	}
	m.req.Messages = model.Paired(m.req.Messages)
}

func (m modelHooks) after(ctx context.Context, response *model.Response, err error) {
	var said handler.Message
	if response != nil {
		said = spoken(response.Message())
	}
	for _, h := range m.task.Hooks {
		if h.AfterModel != nil {
			h.AfterModel(ctx, m.task, m.call(), said, err)
		}
	}
}

func (m modelHooks) call() *handler.ModelCall {
	out := &handler.ModelCall{Model: m.name, Role: m.req.Caller.Role, System: m.req.System}
	for _, message := range m.req.Messages {
		out.Messages = append(out.Messages, spoken(message))
	}
	return out
}

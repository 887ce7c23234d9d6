// The kind llm: one model call with its conversation (GraphSpec §9).

package node

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

type llmHandler struct {
	models *models
	kit    *toolkit
}

// Run asks the model and returns its text, the object of the node's schema or, with
// tools, {content, tool_calls}.
func (h *llmHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	n, err := readModelNode(ctx, h.kit, task)
	if err != nil {
		return nil, err
	}
	calls := newCaller(h.models, task)
	req, said, err := n.compose(ctx, calls)
	if err != nil {
		return nil, err
	}
	if req.Tools, err = h.listOffered(ctx, n); err != nil {
		return nil, err
	}
	s := &stream{task: task, thinking: h.models.thinking}
	a := &asker{calls: calls, role: "chat", named: n.Named, retries: n.Retries, stream: s, ended: n.ended}
	value, response, err := a.ask(ctx, req, n.read)
	if err != nil {
		return nil, err
	}
	s.end(response.Content)
	if task.Talk != nil {
		task.Talk.Say(said...)
		task.Talk.Say(response.Message())
	}
	if len(n.Tools) > 0 {
		return map[string]any{"content": value, "tool_calls": callsData(response.ToolCalls)}, nil
	}
	return value, nil
}

// compose returns the request and its messages that are new in the conversation.
func (n *modelNode) compose(ctx context.Context, calls *caller) (model.Request, []model.Message, error) {
	req := n.request
	if n.Messages != nil {
		given, system, err := givenMessages(n.task, n.Messages)
		req.System, req.Messages = n.systemPrompt(system), given
		return req, nil, err
	}
	talk := n.task.Talk
	if req.System = n.systemPrompt(nil); talk != nil && !talk.Own {
		req.System = identity(n.task)
	}
	if talk == nil {
		req.Messages = []model.Message{n.ask().message(model.User)}
		return req, nil, nil
	}
	req.Messages = make([]model.Message, len(talk.Messages), len(talk.Messages)+8)
	for i := range talk.Messages {
		req.Messages[i] = talk.Messages[i]
		req.Messages[i].Node = ""
	}
	if err := n.compact(ctx, calls, &req); err != nil {
		return req, nil, err
	}
	if talk.Continues {
		return req, nil, nil
	}
	var said []model.Message
	say := func(c content) {
		m := c.message(model.User)
		said, req.Messages = append(said, m), append(req.Messages, m)
	}
	answered := len(req.Messages) == 0 || req.Messages[len(req.Messages)-1].Role == model.Assistant
	if !talk.Own {
		for _, text := range n.turnTo(talk) {
			say(content{text: text})
		}
	}
	if c := n.ask(); !c.isEmpty() {
		say(c)
	} else if answered && !talk.Moved {
		c, err := n.continueText()
		if err != nil {
			return req, nil, err
		}
		say(c)
	}
	return req, said, nil
}

// listOffered lists the tools that the model may call.
func (h *llmHandler) listOffered(ctx context.Context, n *modelNode) ([]model.Tool, error) {
	if len(n.Tools) == 0 {
		return nil, nil
	}
	return h.kit.listOffered(ctx, n.task, n.Tools)
}

// read reads an answer as the node's value.
func (n *modelNode) read(response *model.Response) (any, error) {
	switch {
	case len(response.ToolCalls) > 0 && len(n.Tools) > 0, n.schema == nil:
		return response.Content, nil
	}
	return structured(n.schema, response.Content)
}

// transient reports whether a retry may help, and returns the failure.
func transient(err error) (*runner.Failure, bool) {
	var failure *runner.Failure
	if !errors.As(err, &failure) {
		return nil, false
	}
	if failure.Final() {
		return failure, false
	}
	switch failure.Kind {
	case "rate_limited", "network", "overloaded", "timeout":
		return failure, true
	}
	return failure, false
}

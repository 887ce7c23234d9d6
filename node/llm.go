// The kind llm, and the keys that model nodes share (GraphSpec §9).

package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// runLLM asks the model and returns text, an object or, with tools, {content, tool_calls}.
func (k *toolkit) runLLM(ctx context.Context, task *runner.Task) (any, error) {
	n, err := readModelNode(ctx, k, task)
	if err != nil {
		return nil, err
	}
	calls := newCaller(&k.models, task)
	req, said, err := n.composeRequest(ctx, calls)
	if err != nil {
		return nil, err
	}
	if len(n.Tools) > 0 {
		if req.Tools, err = k.listOffered(ctx, task, n.Tools); err != nil {
			return nil, err
		}
	}
	s := &stream{task: task, thinking: k.thinking}
	value, response, err := calls.askUntilFits(ctx, "chat", n, req, s, n.readAnswer)
	if err != nil {
		return nil, err
	}
	s.endAnswer(response.Content)
	if task.Talk != nil {
		task.Talk.AddMessages(said...)
		task.Talk.AddMessages(response.Message())
	}
	if len(n.Tools) > 0 {
		return map[string]any{"content": value, "tool_calls": encodeCalls(response.ToolCalls)}, nil
	}
	return value, nil
}

// composeRequest returns the request, and those of its messages that are new in the conversation.
func (n *modelNode) composeRequest(ctx context.Context, calls *caller) (model.Request, []model.Message, error) {
	req := n.request
	if n.Messages != nil {
		given, system, err := readMessages(n.task, n.Messages)
		req.System, req.Messages = n.systemPrompt(system), given
		return req, nil, err
	}
	talk := n.task.Talk
	if req.System = n.systemPrompt(nil); talk != nil && !talk.Own {
		req.System = identityText(n.task)
	}
	if talk == nil {
		req.Messages = []model.Message{n.addFeedback().newMessage(model.User)}
		return req, nil, nil
	}
	req.Messages = slices.Clone(talk.Messages)
	for i := range req.Messages {
		req.Messages[i].Node = ""
	}
	if err := n.compactMessages(ctx, calls, &req); err != nil {
		return req, nil, err
	}
	if talk.Continues {
		return req, nil, nil
	}
	var said []model.Message
	say := func(c content) {
		m := c.newMessage(model.User)
		said, req.Messages = append(said, m), append(req.Messages, m)
	}
	answered := len(req.Messages) == 0 || req.Messages[len(req.Messages)-1].Role == model.Assistant
	if !talk.Own {
		for _, text := range n.handoverMessages(talk) {
			say(content{text: text})
		}
	}
	if c := n.addFeedback(); !c.isEmpty() {
		say(c)
	} else if answered && !talk.Moved {
		c, err := n.inputContent()
		if err != nil {
			return req, nil, err
		}
		say(c)
	}
	return req, said, nil
}

func (n *modelNode) readAnswer(response *model.Response) (any, error) {
	if n.schema == nil || len(response.ToolCalls) > 0 && len(n.Tools) > 0 {
		return response.Content, nil
	}
	return parseStructured(n.schema, response.Content)
}

// modelNode is the configuration that llm and agent nodes share.
type modelNode struct {
	Named        string `key:"model" default:"default"`
	Instructions string `key:"instructions"`
	Prompt       any    `key:"prompt"`
	// Messages is the whole list for this call, by default the conversation.
	Messages []any    `key:"messages"`
	Retries  int      `key:"output_retries" default:"2" min:"0"` // of invalid output
	Tools    []string `key:"tools"`
	Accept   []string `key:"accept"` // bad endings (refused, filtered, truncated) that count as answers

	task    *runner.Task
	decl    *spec.Node
	prompt  content
	request model.Request // the parameters of each call
	schema  *schema.Schema
	// finish is the only tool that ends the node's work, with the output as arguments, or "".
	finish string
}

// paramKeys are the keys of a node that --set-model-param sets. Other keys go to the provider.
var paramKeys = []string{"max_tokens", "model", "output_retries", "reasoning", "stop", "temperature"}

func readModelNode(ctx context.Context, kit *toolkit, task *runner.Task) (*modelNode, error) {
	if task.Models == nil || task.Graph == nil || task.Scope == nil {
		return nil, newFailure("internal", "a task without a run has no models")
	}
	n := &modelNode{task: task, decl: cmp.Or(task.Graph.Node(nodeID(task.Node)), &spec.Node{})}
	config := configWithParams(task)
	err := decodeConfig(config, n)
	if err == nil {
		err = decodeConfig(config, &n.request)
	}
	if err == nil && n.Prompt != nil {
		n.prompt, err = kit.readPrompt(ctx, task, n.decl.Field("prompt"), n.Prompt)
	}
	if err != nil {
		return nil, err
	}
	if n.decl.Output != nil {
		if n.schema, err = schema.Compile(n.decl.Output); err != nil {
			return nil, invalidInput("output: %v", err)
		}
		n.request.Schema = n.decl.Output
	}
	return n, nil
}

func configWithParams(task *runner.Task) map[string]any {
	if len(task.Models.Params) == 0 {
		return task.Config
	}
	out, params := maps.Clone(task.Config), map[string]any{}
	given, _ := out["params"].(map[string]any)
	maps.Copy(params, given)
	for key, value := range task.Models.Params {
		if slices.Contains(paramKeys, key) {
			out[key] = value
		} else {
			params[key] = value
		}
	}
	out["params"] = params
	return out
}

func nodeID(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// readMessages reads the key `messages`. It returns the texts of system messages separately.
func readMessages(task *runner.Task, list []any) (messages []model.Message, system []string, err error) {
	for i, item := range list {
		m, err := readMessage(task, item)
		if failure, ok := errors.AsType[*runner.Failure](err); ok {
			err = invalidInput("messages[%d]: %s", i, failure.Message)
		}
		if err != nil {
			return nil, nil, err
		}
		if m.Role == "system" {
			system = append(system, m.Content)
		} else {
			messages = append(messages, m)
		}
	}
	return messages, system, nil
}

func readMessage(task *runner.Task, item any) (m model.Message, err error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return m, invalidInput("it is %s; an object with role and content is wanted", keys.TypeName(item))
	}
	var given struct {
		Role       string `key:"role"`
		Content    any    `key:"content"`
		ToolCalls  []any  `key:"tool_calls"`
		ToolCallID string `key:"tool_call_id"`
		Name       string `key:"name"`
		IsError    bool   `key:"is_error"`
	}
	if err := decodeConfig(fields, &given); err != nil {
		return m, err
	}
	plain, err := convertChatParts(given.Content)
	if err != nil {
		return m, err
	}
	said, err := readValueContent(task, plain)
	if err != nil {
		return m, err
	}
	m = said.newMessage(model.Role(given.Role))
	switch given.Role {
	case "system":
		if m.Parts != nil {
			err = invalidInput("it is a system message with %s; only messages of users and tools may have these", said.text)
		}
	case "user":
	case "assistant":
		m.ToolCalls, err = readCalls("tool_calls", given.ToolCalls)
	case "tool":
		m.ToolCallID, m.Name, m.IsError = given.ToolCallID, given.Name, given.IsError
	default:
		err = invalidInput("the role is %q; allowed are assistant, system, tool, user", given.Role)
	}
	return m, err
}

func encodeCalls(calls []model.ToolCall) []any {
	out := make([]any, len(calls))
	for i, call := range calls {
		if call.Args == nil {
			call.Args = map[string]any{}
		}
		out[i], _ = eval.Canonical(call)
	}
	return out
}

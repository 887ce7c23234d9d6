// The keys that model nodes share, read from a task's configuration.

package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// modelNode is what a model node says.
type modelNode struct {
	task         *runner.Task
	decl         *spec.Node
	named        string // model
	instructions string
	prompt       content
	// messages is the whole list for this call; nil: the conversation's.
	messages []any
	retries  int // of invalid output
	tools    []string
	accept   []string      // kinds of bad endings that are taken
	request  model.Request // the parameters of each call
	schema   *schema.Schema
	// finish is the tool whose call alone ends the node's work; empty: an answer
	// does. The output is what the tool is called with, so an answer of its form is
	// not asked for as well.
	finish string
}

// paramKeys are the keys of model nodes that --set-model-param can set; any
// other goes to the provider as it is.
func paramKeys() []string {
	return []string{"max_tokens", "model", "output_retries", "reasoning", "stop", "temperature"}
}

// readModelNode reads the keys that llm and agent nodes share.
func readModelNode(ctx context.Context, kit *toolkit, task *runner.Task) (*modelNode, error) {
	if task.Models == nil || task.Graph == nil || task.Scope == nil {
		return nil, &runner.Failure{Kind: "internal", Message: "a task without a run has no models"}
	}
	config := withParams(task)
	n := &modelNode{task: task, decl: task.Graph.Node(lastPart(task.Node))}
	var err error
	if n.named, err = textKey(config, "model", "default"); err != nil {
		return nil, err
	}
	if n.instructions, err = textKey(config, "instructions", ""); err != nil {
		return nil, err
	}
	if value, ok := config["prompt"]; ok {
		if n.prompt, err = kit.prompt(ctx, task, value); err != nil {
			return nil, err
		}
	}
	if value, ok := config["messages"]; ok {
		list, isList := value.([]any)
		if !isList {
			return nil, invalidInput("\"messages\" is %s; a list of messages is wanted", typeName(value))
		}
		n.messages = list
	}
	if n.retries, err = intKey(config, "output_retries", 2, 0); err != nil {
		return nil, err
	}
	n.tools, n.accept = texts(config["tools"]), texts(config["accept"])
	if err := n.readRequest(config); err != nil {
		return nil, err
	}
	return n, n.readSchema()
}

// withParams is the configuration with what the caller of the run set.
func withParams(task *runner.Task) map[string]any {
	if len(task.Models.Params) == 0 {
		return task.Config
	}
	out := maps.Clone(task.Config)
	params := map[string]any{}
	if given, ok := out["params"].(map[string]any); ok {
		maps.Copy(params, given)
	}
	for _, key := range sortedNames(task.Models.Params) {
		if slices.Contains(paramKeys(), key) {
			out[key] = task.Models.Params[key]
		} else {
			params[key] = task.Models.Params[key]
		}
	}
	out["params"] = params
	return out
}

func (n *modelNode) readRequest(config map[string]any) error {
	if value, ok := config["temperature"]; ok && value != nil {
		switch v := value.(type) {
		case int:
			n.request.Temperature = new(float64(v))
		case float64:
			n.request.Temperature = &v
		default:
			return invalidInput("\"temperature\" is %s; a number is wanted", preview(value))
		}
	}
	var err error
	if n.request.MaxTokens, err = intKey(config, "max_tokens", 0, 1); err != nil {
		return err
	}
	n.request.Stop = texts(config["stop"])
	n.request.Reasoning = config["reasoning"]
	n.request.Params, err = mapKey(config, "params")
	return err
}

func (n *modelNode) readSchema() error {
	if n.decl == nil || n.decl.Output == nil {
		return nil
	}
	compiled, err := schema.Compile(n.decl.Output)
	if err != nil {
		return invalidInput("output: %v", err)
	}
	n.schema, n.request.Schema = compiled, n.decl.Output
	return nil
}

// lastPart is the node's own id in its path.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// givenMessages reads the key `messages`: objects with role and content as
// chats have them. What a system message says goes to the system prompt.
func givenMessages(task *runner.Task, list []any) (messages []model.Message, system []string, err error) {
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, nil, invalidInput("messages[%d] is %s; an object with role and content is wanted", i, typeName(item))
		}
		role, _ := fields["role"].(string)
		plain, err := plainParts(fields["content"])
		if err != nil {
			return nil, nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		said, err := valueContent(task, plain)
		if err != nil {
			return nil, nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		m := said.message(model.Role(role))
		switch role {
		case "system":
			if m.Parts != nil {
				return nil, nil, invalidInput("messages[%d] is a system message with %s; only users and tools show what is no text", i, said.text)
			}
			system = append(system, m.Content)
			continue
		case "user":
		case "assistant":
			if m.ToolCalls, err = givenCalls(fields["tool_calls"], i); err != nil {
				return nil, nil, err
			}
		case "tool":
			m.ToolCallID, _ = fields["tool_call_id"].(string)
			m.Name, _ = fields["name"].(string)
			m.IsError, _ = fields["is_error"].(bool)
		default:
			if fields["role"] == nil {
				return nil, nil, invalidInput("messages[%d] has no role; allowed are assistant, system, tool, user", i)
			}
			return nil, nil, invalidInput("messages[%d] has the role %s; allowed are assistant, system, tool, user", i, preview(fields["role"]))
		}
		messages = append(messages, m)
	}
	return messages, system, nil
}

func givenCalls(v any, at int) ([]model.ToolCall, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, invalidInput("messages[%d].tool_calls is %s; a list is wanted", at, typeName(v))
	}
	var out []model.ToolCall
	for i, item := range list {
		fields, _ := item.(map[string]any)
		call := model.ToolCall{}
		call.ID, _ = fields["id"].(string)
		call.Name, _ = fields["name"].(string)
		call.Args, _ = fields["args"].(map[string]any)
		call.Malformed, _ = fields["malformed"].(string)
		if call.Name == "" {
			return nil, invalidInput("messages[%d].tool_calls[%d] has no name", at, i)
		}
		out = append(out, call)
	}
	return out, nil
}

// callsData are tool calls as plain data, as outputs have them.
func callsData(calls []model.ToolCall) []any {
	out := make([]any, len(calls))
	for i, call := range calls {
		fields := map[string]any{"id": call.ID, "name": call.Name, "args": map[string]any{}}
		if call.Args != nil {
			fields["args"] = call.Args
		}
		if call.Malformed != "" {
			fields["malformed"] = call.Malformed
		}
		out[i] = fields
	}
	return out
}

// spoken and heard turn messages into those of the conversation and back.
func spoken(m model.Message) handler.Message {
	out := handler.Message{
		Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, Name: m.Name, IsError: m.IsError, Thinking: m.Thinking,
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		out.Parts = append(out.Parts, handler.Part{Kind: string(p.Kind), Text: p.Text, URL: p.URL, Data: p.Data, Type: p.Type, Name: p.Name})
	}
	for _, call := range m.ToolCalls {
		args, err := eval.Canonical(call.Args)
		if err != nil {
			call.Malformed = fmt.Sprint(call.Args)
		}
		call.Args, _ = args.(map[string]any)
		out.ToolCalls = append(out.ToolCalls, handler.ToolCall(call))
	}
	return out
}

func heard(m *handler.Message) model.Message {
	out := model.Message{
		Role: model.Role(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, Name: m.Name, IsError: m.IsError, Thinking: m.Thinking,
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		out.Parts = append(out.Parts, model.Part{Kind: model.PartKind(p.Kind), Text: p.Text, URL: p.URL, Data: p.Data, Type: p.Type, Name: p.Name})
	}
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, model.ToolCall(call))
	}
	return out
}

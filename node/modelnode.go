// The keys that model nodes share, read from a task's configuration.

package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// modelNode is the configuration that llm and agent nodes share.
type modelNode struct {
	Named        string `key:"model" default:"default"`
	Instructions string `key:"instructions"`
	Prompt       any    `key:"prompt"`
	// Messages is the whole list for this call; nil means the conversation's.
	Messages    []any          `key:"messages"`
	Retries     int            `key:"output_retries" default:"2" min:"0"` // of invalid output
	Tools       []string       `key:"tools"`
	Accept      []string       `key:"accept"` // bad endings that count as answers
	Temperature *float64       `key:"temperature"`
	MaxTokens   int            `key:"max_tokens" min:"1"`
	Stop        []string       `key:"stop"`
	Reasoning   any            `key:"reasoning"`
	Params      map[string]any `key:"params"`

	task    *runner.Task
	decl    *spec.Node
	prompt  content
	request model.Request // the parameters of each call
	schema  *schema.Schema
	// finish is the tool whose call alone ends the node's work; "" if an answer does.
	// The arguments are the output, so no answer needs its form.
	finish string
}

// paramKeys are the keys of model nodes that --set-model-param sets; others go to the
// provider.
var paramKeys = []string{"max_tokens", "model", "output_retries", "reasoning", "stop", "temperature"}

// readModelNode reads the configuration of an llm or agent node.
func readModelNode(ctx context.Context, kit *toolkit, task *runner.Task) (*modelNode, error) {
	if task.Models == nil || task.Graph == nil || task.Scope == nil {
		return nil, &runner.Failure{Kind: "internal", Message: "a task without a run has no models"}
	}
	n := &modelNode{task: task, decl: task.Graph.Node(lastPart(task.Node))}
	err := decode(withParams(task), n)
	if err == nil && n.Prompt != nil {
		n.prompt, err = kit.prompt(ctx, task, n.Prompt)
	}
	if err != nil {
		return nil, err
	}
	n.request = model.Request{Temperature: n.Temperature, MaxTokens: n.MaxTokens, Stop: n.Stop, Reasoning: n.Reasoning, Params: n.Params}
	if n.decl != nil && n.decl.Output != nil {
		if n.schema, err = schema.Compile(n.decl.Output); err != nil {
			return nil, invalidInput("output: %v", err)
		}
		n.request.Schema = n.decl.Output
	}
	return n, nil
}

// withParams returns the configuration with the parameters of the run.
func withParams(task *runner.Task) map[string]any {
	if len(task.Models.Params) == 0 {
		return task.Config
	}
	out := maps.Clone(task.Config)
	params := map[string]any{}
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

// lastPart returns the node's own id.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// givenMessages reads the key `messages`: objects with role and content. System messages
// go to the system prompt.
func givenMessages(task *runner.Task, list []any) (messages []model.Message, system []string, err error) {
	for i, item := range list {
		m, err := givenMessage(task, item)
		var failure *runner.Failure
		if errors.As(err, &failure) {
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

func givenMessage(task *runner.Task, item any) (m model.Message, err error) {
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
	if err := decode(fields, &given); err != nil {
		return m, err
	}
	plain, err := ownForm(given.Content)
	if err != nil {
		return m, err
	}
	said, err := valueContent(task, plain)
	if err != nil {
		return m, err
	}
	m = said.message(model.Role(given.Role))
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

// callsData returns tool calls as plain data for outputs.
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

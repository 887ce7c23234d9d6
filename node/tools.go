// The kinds tools and tool: calling what a model asked for, and calling one tool.

package node

import (
	"context"
	"sync"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/tool"
)

// toolsHandler executes the calls of the model's last message.
type toolsHandler struct{ kit *toolkit }

// Run makes the calls, side by side unless the node says sequential, and
// returns their results in the order of the calls. A call that fails is a
// result for the model, not a failure of the node.
func (h *toolsHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	registry, err := h.kit.registry(task)
	if err != nil {
		return nil, err
	}
	calls, err := callsOf(task)
	if err != nil {
		return nil, err
	}
	allowed := allowList(task.Config, registry)
	sequential, _ := task.Config["sequential"].(bool)
	results, err := h.kit.callAll(ctx, task, allowed, calls, sequential)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(calls))
	for i := range calls {
		out[i] = map[string]any{
			"id": calls[i].id, "name": calls[i].Name,
			"output": registry.Fit(calls[i].Name, results[i].output), "is_error": results[i].isError,
		}
	}
	return out, nil
}

// callAll makes calls and returns their answers in the same order. The first
// error, in that order, ends the task.
func (k *toolkit) callAll(ctx context.Context, task *runner.Task, allowed []string, calls []toolCall, sequential bool) ([]answer, error) {
	answers, failures := make([]answer, len(calls)), make([]error, len(calls))
	var group sync.WaitGroup
	for i := range calls {
		one := func() { answers[i], failures[i] = k.call(ctx, task, allowed, calls[i]) }
		if !sequential && len(calls) > 1 {
			group.Go(one)
			continue
		}
		if one(); failures[i] != nil {
			return nil, failures[i]
		}
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// allowList is what a node may call: its `tools`, or all that the graph
// declares.
func allowList(config map[string]any, registry *tool.Registry) []string {
	if list, given := config["tools"].([]any); given {
		return texts(list)
	}
	return registry.All()
}

// callsOf reads the calls that a tools node is to make.
func callsOf(task *runner.Task) ([]toolCall, error) {
	input, _ := task.Input.(map[string]any)
	given, ok := input["tool_calls"].([]any)
	if !ok {
		return nil, invalidInput("there are no tool calls: a tools node follows a model node that has tools")
	}
	calls := make([]toolCall, len(given))
	for i, entry := range given {
		fields, _ := entry.(map[string]any)
		name, _ := fields["name"].(string)
		if name == "" {
			return nil, invalidInput("tool call %d has no name", i)
		}
		calls[i] = toolCall{Call: tool.Call{Name: name}, number: i}
		calls[i].id, _ = fields["id"].(string)
		calls[i].Args, _ = fields["args"].(map[string]any)
		calls[i].Malformed, _ = fields["malformed"].(string)
	}
	return calls, nil
}

// toolHandler calls one tool.
type toolHandler struct{ kit *toolkit }

// Run makes the call; its result is the output.
func (h *toolHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	name, err := textKey(task.Config, "tool", "")
	if err != nil {
		return nil, err
	}
	args, err := mapKey(task.Config, "args")
	if err != nil {
		return nil, err
	}
	out, err := h.kit.call(ctx, task, []string{name}, toolCall{Call: tool.Call{Name: name, Args: args}})
	if err != nil {
		return nil, err
	}
	if out.isError {
		return nil, &runner.Failure{Kind: "tool", Message: tool.Text(out.output), Details: out.details}
	}
	return out.output, nil
}

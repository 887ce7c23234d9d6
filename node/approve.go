// Calls of tools that a person approves before they are made (GraphSpec §9, tools).

package node

import (
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/tool"
)

// approvalSchema returns the schema of answers about a call. args is the schema of the
// tool's arguments, nil if unknown.
func approvalSchema(args map[string]any) map[string]any {
	if args == nil {
		args = map[string]any{"type": "object"}
	}
	only := func(key string, value map[string]any) map[string]any {
		return map[string]any{"type": "object", "required": []any{key}, "additionalProperties": false, "properties": map[string]any{key: value}}
	}
	return map[string]any{"anyOf": []any{
		map[string]any{"const": "approve"},
		only("edit", args),
		only("reject", map[string]any{"type": "string"}),
	}}
}

// approval returns the key of the question about a call, which is unique in the visit.
func (c *toolCall) approval() string { return fmt.Sprintf("%s#%d", c.Name, c.number+1) }

// askApproval asks a person about all calls that need approval and returns the calls with
// edited arguments, and the answers to rejected ones by index. The error makes the task
// wait.
func (k *toolkit) askApproval(task *runner.Task, calls []toolCall) ([]toolCall, map[int]answer, error) {
	registry, err := k.registry(task)
	if err != nil {
		return nil, nil, err
	}
	var questions []handler.Question
	var places []int
	for i := range calls {
		c := &calls[i]
		needed, err := requiresApproval(registry.Approve(c.Name), task, c)
		if err != nil {
			return nil, nil, err
		}
		if _, made := c.logged(task); made || !needed {
			continue
		}
		places = append(places, i)
		questions = append(questions, handler.Question{
			Key: c.approval(), Schema: approvalSchema(registry.Parameters(c.Name)), Tool: &handler.ToolAsk{Name: c.Name, Args: c.Args},
			Prompt: fmt.Sprintf("Call %s with %s? Answer approve, {\"edit\": {…}} or {\"reject\": \"why\"}.", c.Name, tool.Text(c.Args)),
		})
	}
	if len(questions) == 0 {
		return calls, nil, nil
	}
	verdicts, err := task.InterruptAll(questions...)
	if err != nil {
		return nil, nil, err
	}
	out, rejected := append([]toolCall{}, calls...), map[int]answer{}
	for _, i := range places {
		verdict, _ := verdicts[out[i].approval()].(map[string]any)
		if args, ok := verdict["edit"].(map[string]any); ok {
			out[i].Args = args
		}
		if words, ok := verdict["reject"].(string); ok {
			rejected[i] = answer{Output: words, IsError: true}
		}
	}
	return out, rejected, nil
}

// requiresApproval reports whether a call needs a person's approval. One with malformed
// arguments is not made anyway.
func requiresApproval(when string, task *runner.Task, c *toolCall) (bool, error) {
	if when == "" || c.Malformed != "" {
		return false, nil
	}
	if when == "always" {
		return true, nil
	}
	program, wrong := eval.ApprovalScope().Compile(when, eval.Condition)
	if wrong != nil {
		return false, invalidInput("tool %q: approve: %s", c.Name, wrong.Message)
	}
	args, state := c.Args, task.State
	if args == nil {
		args = map[string]any{}
	}
	var vm eval.VM
	needed, err := vm.Test(program, map[string]any{"args": args, "state": state})
	if err != nil {
		return false, &runner.Failure{Kind: "expression", Message: fmt.Sprintf("tool %q: approve: %v", c.Name, err)}
	}
	return needed, nil
}

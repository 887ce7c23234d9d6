// Calls of tools that a person approves before they are made (GraphSpec §9, tools).

package node

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/tool"
)

// approvalSchema returns the schema of answers about a call. Edited arguments fit the tool's
// schema, unless that has references, which can't be part of another schema.
func approvalSchema(decl *tool.Declared) map[string]any {
	args := map[string]any{"type": "object"}
	if !decl.IsServer() && !strings.Contains(eval.Text(decl.Parameters), `"$ref"`) {
		args = decl.Parameters
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
		decl, _ := registry.Find(c.Name)
		needed, err := requiresApproval(decl, task, c)
		if err != nil {
			return nil, nil, err
		}
		if _, made := c.logged(task); made || !needed {
			continue
		}
		places = append(places, i)
		questions = append(questions, handler.Question{
			Key: c.approval(), Schema: approvalSchema(decl), Tool: &handler.ToolAsk{Name: c.Name, Args: c.Args},
			Prompt: fmt.Sprintf("Call %s with %s? Answer approve, {\"edit\": {…}} or {\"reject\": \"why\"}.", c.Name, eval.Text(c.Args)),
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
func requiresApproval(decl *tool.Declared, task *runner.Task, c *toolCall) (bool, error) {
	if decl == nil || decl.Approve == "" || c.Malformed != "" {
		return false, nil
	}
	if decl.Approve == "always" {
		return true, nil
	}
	program, wrong := eval.ApprovalScope().Compile(decl.Approve, eval.Condition)
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

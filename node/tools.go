// The kinds tools and tool, and approval of calls by a person (GraphSpec §9).

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/tool"
)

// runTools makes the tool calls of the model's last message and returns their results in order. It
// makes them in parallel unless the node is sequential. A failed call has a result, too.
func (k *toolkit) runTools(ctx context.Context, task *runner.Task) (any, error) {
	registry, err := k.openRegistry(task)
	if err != nil {
		return nil, err
	}
	calls, asked, err := readOpenCalls(task)
	if err != nil {
		return nil, err
	}
	allowed := registry.Names()
	if list, given := task.Config["tools"].([]any); given {
		allowed = keys.Texts(list)
	}
	sequential, _ := task.Config["sequential"].(bool)
	results, err := k.callTools(ctx, task, allowed, calls, sequential)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(calls))
	for i := range calls {
		decl, _ := registry.FindTool(calls[i].Name)
		results[i].Output = decl.CutResult(results[i].Output)
		out[i] = map[string]any{"id": calls[i].ID, "name": calls[i].Name, "output": results[i].Output, "is_error": results[i].IsError}
		if !asked {
			continue
		}
		m, err := resultMessage(task, calls[i].ToolCall, results[i])
		if err != nil {
			return nil, err
		}
		task.Talk.AddMessages(m)
	}
	return out, nil
}

// resultMessage returns the answer of a call as a message, or an error as one if parts are unreadable.
func resultMessage(task *runner.Task, call model.ToolCall, out answer) (model.Message, error) {
	m := model.Message{Role: model.ToolResult, ToolCallID: call.ID, Name: call.Name, IsError: out.IsError}
	said, err := readResultContent(task, maskSecrets(task, out.Output))
	if failure, ok := errors.AsType[*runner.Failure](err); ok {
		m.Content, m.IsError = failure.Message, true
		return m, nil
	}
	m.Content, m.Parts = said.text, said.parts
	return m, err
}

// callTools makes calls and returns their answers in order, or an error. It asks all questions at once.
func (k *toolkit) callTools(ctx context.Context, task *runner.Task, allowed []string, calls []toolCall, sequential bool) ([]answer, error) {
	calls, rejected, err := k.askApproval(task, calls)
	if err != nil {
		return nil, err
	}
	answers, failures := make([]answer, len(calls)), make([]error, len(calls))
	beside := !sequential && len(calls) > 1
	if beside && task.AddParallel != nil {
		task.AddParallel(len(calls))
	}
	var group sync.WaitGroup
	for i := range calls {
		one := func() {
			defer func() {
				if v := recover(); v != nil { // the runner recovers only in its own goroutine
					failures[i] = newFailure("internal", "the call of tool %q panicked: %v", calls[i].Name, v)
				}
			}()
			if words, ok := rejected[i]; ok {
				answers[i], failures[i] = calls[i].journalCall(task, func() (answer, error) { return words, nil })
				return
			}
			answers[i], failures[i] = k.callTool(ctx, task, allowed, calls[i])
		}
		if beside {
			group.Go(func() {
				one()
				if task.AddParallel != nil {
					task.AddParallel(-1)
				}
			})
			continue
		}
		if one(); failures[i] != nil {
			return nil, failures[i]
		}
	}
	group.Wait()
	if err := handler.JoinErrors(failures...); err != nil {
		return nil, err
	}
	return answers, nil
}

// readOpenCalls returns the calls of the last message that have no result, with asked set,
// or else the calls in the input.
func readOpenCalls(task *runner.Task) (calls []toolCall, asked bool, err error) {
	if task.Talk != nil {
		answered := map[string]bool{}
		for _, m := range slices.Backward(task.Talk.Messages) {
			if asked = m.Role == "assistant"; !asked {
				answered[m.ToolCallID] = true
				continue
			}
			for i, c := range m.ToolCalls {
				if !answered[c.ID] {
					calls = append(calls, toolCall{ToolCall: c, number: i})
				}
			}
			break
		}
	}
	input, _ := task.Input.(map[string]any)
	given, ok := input["tool_calls"].([]any)
	switch {
	case len(calls) > 0, asked && !ok:
		return calls, true, nil
	case !ok:
		return nil, false, invalidInput("there are no tool calls: a tools node follows a model node that has tools")
	}
	read, err := readCalls("tool_calls", given)
	for i, c := range read {
		calls = append(calls, toolCall{ToolCall: c, number: i})
	}
	return calls, false, err
}

// readCalls reads tool calls from plain data. where names the list in errors.
func readCalls(where string, list []any) (calls []model.ToolCall, err error) {
	if err := decodeData(list, &calls); err != nil {
		return nil, invalidInput("%s: %v", where, err)
	}
	for i := range calls {
		if calls[i].Name == "" {
			return nil, invalidInput("%s[%d] has no name", where, i)
		}
	}
	return calls, nil
}

func (k *toolkit) runTool(ctx context.Context, task *runner.Task) (any, error) {
	var c struct {
		Tool string         `key:"tool"`
		Args map[string]any `key:"args"`
	}
	if err := decodeConfig(task.Config, &c); err != nil {
		return nil, err
	}
	answers, err := k.callTools(ctx, task, []string{c.Tool}, []toolCall{{ToolCall: model.ToolCall{Name: c.Tool, Args: c.Args}}}, true)
	if err != nil {
		return nil, err
	}
	out := answers[0]
	if out.IsError {
		return nil, &runner.Failure{Kind: "tool", Message: eval.Text(out.Output), Details: out.Details}
	}
	return out.Output, nil
}

// newApprovalSchema returns the schema of the answer to an approval question. Edited arguments must
// fit the tool's schema, unless it has references, which would break inside another schema.
func newApprovalSchema(decl *tool.Declared) map[string]any {
	args := map[string]any{"type": "object"}
	if !decl.IsServer() && !strings.Contains(eval.Text(decl.Parameters), `"$ref"`) {
		args = decl.Parameters
	}
	return map[string]any{"anyOf": []any{
		map[string]any{"const": "approve"},
		closedSchema(map[string]any{"edit": args}, "edit"),
		closedSchema(map[string]any{"reject": map[string]any{"type": "string"}}, "reject"),
	}}
}

// approvalKey returns the key of the question about a call, unique in the visit.
func (c *toolCall) approvalKey() string { return fmt.Sprintf("%s#%d", c.Name, c.number+1) }

// askApproval asks a person to approve calls. It returns all calls, with arguments as the person edited
// them, and the answers of rejected calls by index. While answers are missing, it returns an error.
func (k *toolkit) askApproval(task *runner.Task, calls []toolCall) ([]toolCall, map[int]answer, error) {
	registry, err := k.openRegistry(task)
	if err != nil {
		return nil, nil, err
	}
	var questions []handler.Question
	var indexes []int
	for i, c := range calls {
		decl, _ := registry.FindTool(c.Name)
		needed, err := requiresApproval(decl, task, &c)
		if err != nil {
			return nil, nil, err
		}
		if _, made := c.findLogged(task); made || !needed {
			continue
		}
		indexes = append(indexes, i)
		questions = append(questions, handler.Question{
			Key: c.approvalKey(), Schema: newApprovalSchema(decl), Tool: &handler.ToolAsk{Name: c.Name, Args: c.Args},
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
	for _, i := range indexes {
		verdict, _ := verdicts[out[i].approvalKey()].(map[string]any)
		if args, ok := verdict["edit"].(map[string]any); ok {
			out[i].Args = args
		}
		if words, ok := verdict["reject"].(string); ok {
			rejected[i] = answer{Output: words, IsError: true}
		}
	}
	return out, rejected, nil
}

// requiresApproval reports whether a call needs a person's approval. Malformed calls are never made.
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
		return false, newFailure("expression", "tool %q: approve: %v", c.Name, err)
	}
	return needed, nil
}

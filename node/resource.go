// Resources and prompts of servers in the prompt of a model: {resource: server:uri},
// {prompt: server:name, args} (GraphSpec §9).

package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// fetched is the value of a prompt with what servers say in the place of their
// resources and prompts. Only what the file itself names is asked for, never what a
// value says.
func (k *toolkit) fetched(ctx context.Context, task *runner.Task, v any) (any, error) {
	decl := task.Graph.Node(lastPart(task.Node))
	if decl == nil {
		return v, nil
	}
	written := decl.Field("prompt")
	if written == nil || written.Kind != spec.List && written.Kind != spec.Map {
		return v, nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var out []any
	for number, item := range list {
		fields, _ := item.(map[string]any)
		if fields["resource"] == nil && fields["prompt"] == nil {
			out = append(out, item)
			continue
		}
		parts, err := k.fetch(ctx, task, number, fields)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	return out, nil
}

// noteFetched marks what was fetched in a task's log: a run that is taken up again
// asks its model what it asked before.
const noteFetched = "fetched"

// fetch asks a server for what the part of that number names.
func (k *toolkit) fetch(ctx context.Context, task *runner.Task, number int, fields map[string]any) ([]any, error) {
	kind, named := "resource", eval.Text(fields["resource"])
	if fields["prompt"] != nil {
		kind, named = "prompt", eval.Text(fields["prompt"])
	}
	if parts, ok := loggedParts(task, number); ok {
		return parts, nil
	}
	server, what, colon := strings.Cut(named, ":")
	if !colon || what == "" {
		return nil, invalidInput("the %s %q is none; it is named server:%s", kind, named, map[string]string{"resource": "uri", "prompt": "name"}[kind])
	}
	registry, err := k.registry(task)
	if err != nil {
		return nil, err
	}
	hideKeys(task, k.cassette)
	given, args := map[string]string{}, map[string]any{kind: what}
	texts, _ := fields["args"].(map[string]any)
	for name, value := range texts {
		given[name] = eval.Text(value)
		args[name] = given[name]
	}
	began := time.Now()
	actor := &toolActor{kit: k, task: task}
	taped, err := k.cassette.Tool(cassette.ToolCall{
		Caller: model.Caller{Node: task.Node, Place: placeOf(task), Visit: task.Visit, Turn: number + 1}, Name: server + ":" + kind, Args: args,
	}, func() (cassette.ToolAnswer, error) {
		var parts []any
		var err error
		if kind == "prompt" {
			parts, err = registry.Prompt(ctx, actor, server, what, given)
		} else {
			parts, err = registry.Resource(ctx, actor, server, what)
		}
		return cassette.ToolAnswer{Output: parts}, err
	})
	if err != nil {
		var failed *tool.Error
		if errors.As(err, &failed) {
			return nil, toolFailure(err)
		}
		return nil, ended(ctx, named, err)
	}
	parts, _ := unseen(task, taped.Output).([]any)
	k.tell(task, toolCall{Call: tool.Call{Name: server + ":" + kind, Args: args}}, answer{output: slices.Clone(parts)}, time.Since(began))
	if task.Note == nil {
		return parts, nil
	}
	return parts, task.Note(map[string]any{noteFetched: map[string]any{"number": number, "parts": parts}})
}

func loggedParts(task *runner.Task, number int) ([]any, bool) {
	for _, entry := range task.Log {
		fields, _ := entry.(map[string]any)
		note, ok := fields[noteFetched].(map[string]any)
		if n, whole := wholeNumber(note["number"]); ok && whole && n == number {
			parts, isList := note["parts"].([]any)
			return parts, isList
		}
	}
	return nil, false
}

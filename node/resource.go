// Resources and prompts of servers in the prompt of a model: {resource: server:uri},
// {prompt: server:name, args} (GraphSpec §9).

package node

import (
	"context"
	"errors"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// prompt is what a prompt says: a text, or parts, with what servers say in the place of
// their resources and prompts. What the file writes as a part is one, and only that is
// asked for at servers; what values are is read as valueContent does.
func (k *toolkit) prompt(ctx context.Context, task *runner.Task, v any) (content, error) {
	written := writtenPrompt(task)
	if written == nil || written.Kind != spec.List && written.Kind != spec.Map {
		return valueContent(task, v)
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var parts []model.Part
	for i, item := range list {
		ofFile := written.Kind == spec.Map || i < len(written.Items) && written.Items[i].Kind == spec.Map
		said, err := k.promptItem(ctx, task, i, item, ofFile)
		if err != nil {
			return content{}, err
		}
		if said.parts == nil {
			said.parts = []model.Part{{Kind: model.TextPart, Text: said.text}}
		}
		parts = append(parts, said.parts...)
	}
	return contentOfParts(parts), nil
}

// writtenPrompt is the prompt of a task's node as its file has it; nil: it has none.
func writtenPrompt(task *runner.Task) *spec.Value {
	if decl := task.Graph.Node(lastPart(task.Node)); decl != nil {
		return decl.Field("prompt")
	}
	return nil
}

// promptItem is what an item of a prompt says; ofFile: the file writes it as a part.
func (k *toolkit) promptItem(ctx context.Context, task *runner.Task, number int, item any, ofFile bool) (content, error) {
	fields, _ := item.(map[string]any)
	text, isText := fields["text"]
	switch {
	case !ofFile:
		return valueContent(task, item)
	case fields["resource"] != nil || fields["prompt"] != nil:
		fetched, err := k.fetch(ctx, task, number, fields)
		if err != nil {
			return content{}, err
		}
		return contentOf(fetched, anyFile(task))
	case isText:
		return valueContent(task, text)
	}
	part, err := readPart(item, anyFile(task))
	return contentOfParts([]model.Part{part}), err
}

// fetchedPart is the kind of number under which what was fetched for a part of a prompt
// is kept: a run that is taken up again asks its model what it asked before.
const fetchedPart = "part"

// fetch asks a server for what the part of that number names.
func (k *toolkit) fetch(ctx context.Context, task *runner.Task, number int, fields map[string]any) ([]any, error) {
	kind, named := "resource", eval.Text(fields["resource"])
	if fields["prompt"] != nil {
		kind, named = "prompt", eval.Text(fields["prompt"])
	}
	if done, ok := loggedAs(fetchedPart, task, number); ok {
		parts, _ := done.output.([]any)
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
	began := now(task)
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
	call := toolCall{Call: tool.Call{Name: server + ":" + kind, Args: args}}
	return parts, call.keepAs(fetchedPart, task, number, answer{output: parts}, now(task).Sub(began))
}

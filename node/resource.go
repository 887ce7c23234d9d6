// Resources and prompts of servers in the prompt of a model: {resource: server:uri},
// {prompt: server:name, args} (GraphSpec §9).

package node

import (
	"context"
	"errors"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// prompt returns the content of a prompt, with the resources and prompts of servers. Only
// parts that the file writes may name these; values are read by valueContent.
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

// writtenPrompt returns the prompt of a node in its file, or nil.
func writtenPrompt(task *runner.Task) *spec.Value {
	if decl := task.Graph.Node(lastPart(task.Node)); decl != nil {
		return decl.Field("prompt")
	}
	return nil
}

// promptItem returns the content of an item of a prompt; ofFile says that the file writes
// it as a part.
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

// fetch fetches a numbered part from a server. It is journaled: a resumed run asks its model
// the same again.
func (k *toolkit) fetch(ctx context.Context, task *runner.Task, number int, fields map[string]any) ([]any, error) {
	kind, named, form := "resource", eval.Text(fields["resource"]), "server:uri"
	if fields["prompt"] != nil {
		kind, named, form = "prompt", eval.Text(fields["prompt"]), "server:name"
	}
	server, what, _ := strings.Cut(named, ":")
	if what == "" {
		return nil, invalidInput("invalid %s %q; it is named %s", kind, named, form)
	}
	given, args := map[string]string{}, map[string]any{kind: what}
	texts, _ := fields["args"].(map[string]any)
	for name, value := range texts {
		given[name] = eval.Text(value)
		args[name] = given[name]
	}
	c := toolCall{ToolCall: model.ToolCall{Name: server + ":" + kind, Args: args}, number: number, isPart: true}
	out, err := c.journal(task, func() (answer, error) {
		registry, err := k.registry(task)
		if err != nil {
			return answer{}, err
		}
		taped, err := k.playOrRecord(task, c, func() (answer, error) {
			actor := &toolActor{kit: k, task: task}
			if kind == "prompt" {
				parts, err := registry.Prompt(ctx, actor, server, what, given)
				return answer{Output: parts}, err
			}
			parts, err := registry.Resource(ctx, actor, server, what)
			return answer{Output: parts}, err
		})
		var failed *tool.Error
		switch {
		case errors.As(err, &failed):
			return answer{}, toolFailure(err)
		case err != nil:
			return answer{}, callError(ctx, named, err)
		}
		parts, _ := maskSecrets(task, taped.Output).([]any)
		return answer{Output: parts}, nil
	})
	parts, _ := out.Output.([]any)
	return parts, err
}

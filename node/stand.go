// Replacements of models and tools in tests and dry runs.

package node

import (
	"context"
	"slices"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/tool"
)

// Stand replaces models and tools. A nil function replaces nothing.
type Stand struct {
	// Model returns a client or the name of a model in place of the named one; "" and nil
	// leave the flow's.
	Model func(ctx context.Context, task *runner.Task, name string) (instead string, dir string, client model.Client)
	// Tool answers a call with valid arguments; handled is false to make the call. The
	// error is a *tool.Error, or ends the task.
	Tool func(ctx context.Context, task *runner.Task, call handler.ToolCall) (output any, handled bool, err error)
	// Tools lists the tools of a server by their full names. If handled is false, the server
	// is started and asked.
	Tools func(ctx context.Context, task *runner.Task, server string) (tools []model.Tool, handled bool)
}

// Tell emits events as a program does through GRAPHRUN_TASK_EVENTS. problem describes an
// invalid event, or is "". The handler must return the error, which makes the task wait.
func Tell(task *runner.Task, events []map[string]any) (problem string, err error) {
	var p eventParser
	for _, event := range events {
		p.number++
		said, bad := p.read(event)
		if bad != nil {
			return bad.Error(), nil
		}
		if said.Type != "" {
			emit(task, said)
		}
	}
	_, err = task.InterruptAll(p.questions...)
	return "", err
}

// ask resolves the model of a call or its replacement.
func (m *models) ask(ctx context.Context, task *runner.Task, named string) (modelRef, model.Client, error) {
	ref, err := resolveModel(task, named)
	if m.stand == nil || m.stand.Model == nil {
		return ref, nil, err
	}
	instead, dir, client := m.stand.Model(ctx, task, ref.name)
	switch {
	case client != nil:
		if ref.name == "" {
			ref.name = instead
		}
		return ref, client, nil
	case instead != "":
		return modelRef{name: instead, dir: dir}, nil, nil
	}
	return ref, nil, err
}

// serverTools returns the tools of replaced servers among names, and the other names.
func (k *toolkit) serverTools(ctx context.Context, task *runner.Task, registry *tool.Registry, names []string) (out []model.Tool, rest []string) {
	if k.stand == nil || k.stand.Tools == nil {
		return nil, names
	}
	for _, name := range names {
		decl, member := registry.Find(name)
		var tools []model.Tool
		handled := false
		if decl.IsServer() {
			tools, handled = k.stand.Tools(ctx, task, decl.Name)
		}
		if !handled {
			rest = append(rest, name)
			continue
		}
		for _, t := range tools {
			same := func(other model.Tool) bool { return other.Name == t.Name }
			if (member == tool.All || t.Name == decl.Name+"."+member) && !slices.ContainsFunc(out, same) {
				out = append(out, t)
			}
		}
	}
	return out, rest
}

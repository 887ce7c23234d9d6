// What stands in for models and tools: tests and dry runs.

package node

import (
	"context"
	"slices"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/tool"
)

// Stand stands in for what tasks ask of the world. A nil function leaves it to the
// world.
type Stand struct {
	// Model gives the client to ask in the place of the model with that name, and the
	// name under which it is asked; nil: that of the flow.
	Model func(ctx context.Context, task *runner.Task, name string) (instead string, dir string, client model.Client)
	// Tool answers a call of a tool whose arguments are in order; handled is false for
	// one that is to be made. The error is a *tool.Error, or ends the task.
	Tool func(ctx context.Context, task *runner.Task, call handler.ToolCall) (output any, handled bool, err error)
	// Tools lists the tools of a server by their whole names, so that it need not be
	// started; handled is false for one that is to be asked.
	Tools func(ctx context.Context, task *runner.Task, server string) (tools []model.Tool, handled bool)
}

// Tell says what a program would say by a list of events, as GRAPHRUN_TASK_EVENTS
// has them. The error is one that the handler must return: the task waits for
// answers. problem says which event is none; "": all are.
func Tell(task *runner.Task, events []map[string]any) (problem string, err error) {
	var p eventParser
	for _, event := range events {
		p.number++
		said, bad := p.read(event)
		if bad != nil {
			return bad.Error(), nil
		}
		if said.Type != "" && task.Emit != nil {
			task.Emit(said)
		}
	}
	_, err = task.InterruptAll(p.questions...)
	return "", err
}

// ask resolves the model that a call asks, or what stands in for it.
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

// serverTools are the tools of the servers among names that something stands in
// for, and the names that are left to ask.
func (k *toolkit) serverTools(ctx context.Context, task *runner.Task, registry *tool.Registry, names []string) (out []model.Tool, rest []string) {
	if k.stand == nil || k.stand.Tools == nil {
		return nil, names
	}
	for _, name := range names {
		server, member, isServer := registry.Server(name)
		if !isServer {
			rest = append(rest, name)
			continue
		}
		tools, handled := k.stand.Tools(ctx, task, server)
		if !handled {
			rest = append(rest, name)
			continue
		}
		for _, t := range tools {
			same := func(other model.Tool) bool { return other.Name == t.Name }
			if (member == "*" || t.Name == server+"."+member) && !slices.ContainsFunc(out, same) {
				out = append(out, t)
			}
		}
	}
	return out, rest
}

// standIn answers a call in the place of the tool.
func (k *toolkit) standIn(ctx context.Context, task *runner.Task, c *toolCall) (output any, handled bool, err error) {
	if k.stand == nil || k.stand.Tool == nil {
		return nil, false, nil
	}
	return k.stand.Tool(ctx, task, c.hookCall())
}

// Attempts: what became of a task, as plain data, also when it ran elsewhere.

package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// Try runs a handler on the task once. What it comes to is plain data; a panic is a
// failure.
func (t *Task) Try(ctx context.Context, run Handler) (out *handler.Attempt) {
	defer func() {
		if v := recover(); v != nil {
			out = &handler.Attempt{Failure: asFailure(ctx, fmt.Errorf("%w: %v", errHandlerPanic, v))}
		}
	}()
	output, err := run.Run(ctx, t)
	var parked *handler.Parked
	if errors.As(err, &parked) {
		park, bad := parked.Plain()
		if bad == nil {
			return &handler.Attempt{Park: park}
		}
		err = bad
	}
	if err != nil {
		return &handler.Attempt{Failure: plainFailure(asFailure(ctx, err))}
	}
	plain, err := eval.Canonical(output)
	if err != nil {
		return &handler.Attempt{Failure: &Failure{Kind: "invalid_output", Message: "output is no plain data: " + err.Error()}}
	}
	return &handler.Attempt{Output: plain, Talk: t.Talk.Added()}
}

// Equip gives a task that runs apart from its driver what the flow knows of its node:
// Graph and WantsText. The error says that the flow has no such node.
func (f *Flow) Equip(task *Task) error {
	flows, id, err := f.around(task.Node)
	if err != nil {
		return err
	}
	at := flows[len(flows)-1]
	task.Graph, task.WantsText = at.graph, at.plan.WantsText(id)
	return nil
}

// GraphsAround are the graphs that the node at a path stands in, the outermost first;
// nil: there is no such node.
func (f *Flow) GraphsAround(path string) []*spec.Graph {
	flows, _, err := f.around(path)
	if err != nil {
		return nil
	}
	out := make([]*spec.Graph, len(flows))
	for i, flow := range flows {
		out[i] = flow.graph
	}
	return out
}

// around are the flows that the node at a path stands in, and its id in the last.
func (f *Flow) around(path string) (flows []*Flow, id string, err error) {
	parts := strings.Split(path, "/")
	id = parts[len(parts)-1]
	for i := range parts[:len(parts)-1] {
		flows = append(flows, f)
		if f.graph.Node(parts[i]) == nil {
			return nil, "", f.noNode(parts[i])
		}
		if f = f.inside(parts[i], parts[i+1]); f == nil {
			return nil, "", fmt.Errorf("node %q runs no graph", strings.Join(parts[:i+1], "/"))
		}
	}
	if f.graph.Node(id) == nil {
		return nil, "", f.noNode(id)
	}
	return append(flows, f), id, nil
}

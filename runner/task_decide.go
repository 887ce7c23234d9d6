// Decisions of models between edges.

package runner

import (
	"context"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// decide asks the decider; without one the decision fails, and the machine takes the
// fallback edge.
func (d *driver) decide(ctx context.Context, c *machine.Command) {
	id, choice, limit := c.Task, *c.Choice, d.state.ValueLimit(c.Task)
	d.places[id] = choice.Place
	seen := map[string]any{}
	for _, v := range choice.See {
		seen[v.Key] = v.Value
	}
	seen = d.mask.State(choice.Graph.Graph, seen)
	choice.See = slices.Clone(choice.See)
	for i := range choice.See {
		choice.See[i].Value = seen[choice.See[i].Key]
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel[id] = func() { cancel(context.Canceled) }
	task := d.newTask(id, &choice.Place, choice.Graph, -1)
	task.Emit = func(said Said) { d.send(message{task: id, said: &said}) }
	task.Log, task.Note = choice.Log, func(data any) error { return d.noteWithin(limit, id, data) }
	d.share(task, id, choice.Turns)
	decider := d.flow.runner.cfg.Decider
	turn := d.pace.Turn()
	go func() {
		turn()
		defer d.pace.Release()
		defer cancel(nil)
		event := machine.Event{Kind: machine.Decided, Task: id}
		if decider == nil {
			event.Failure = &Failure{Kind: "llm", Message: "no model is configured"}
		} else if target, reasoning, err := decider.Decide(ctx, task, choice); err != nil {
			event.Failure = plainFailure(asFailure(ctx, err))
		} else {
			event.Target, event.Reasoning = target, reasoning
		}
		event.At = d.now()
		d.send(message{event: event})
	}()
}

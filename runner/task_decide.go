// Decisions of models between edges.

package runner

import (
	"context"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// decide asks the decider; without one the decision fails, and the machine
// takes the fallback edge.
func (d *driver) decide(ctx context.Context, c *machine.Command) {
	id, choice, bound := c.Task, *c.Choice, d.state.ValueBound()
	choice.Path = d.pathSoFar()
	seen := map[string]any{}
	for _, v := range choice.See {
		seen[v.Key] = v.Value
	}
	seen = d.mask.State(seen)
	choice.See = slices.Clone(choice.See)
	for i := range choice.See {
		choice.See[i].Value = seen[choice.See[i].Key]
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel[id] = func() { cancel(context.Canceled) }
	task := &Task{
		RunID: d.opts.RunID, Node: d.nested.path(id.Node), Place: d.nested.placeOf(id.Node, -1), Visit: id.Visit, Attempt: 1, Index: -1, Elements: d.nested.widest(0), Dir: d.opts.Dir,
		Emit: func(said Said) { d.send(message{task: id, said: &said}) },
		Log:  choice.Log, Note: func(data any) error { return d.noteWithin(bound, id, data) },
	}
	d.share(task)
	d.access(task, id, choice.Turns)
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

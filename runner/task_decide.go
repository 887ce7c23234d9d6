// Decisions of models between edges.

package runner

import (
	"context"
	"slices"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// startDecision asks the decider. Without one the decision fails, for the fallback edge.
func (d *driver) startDecision(ctx context.Context, c *machine.Command) {
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
	task.Emit = func(said Said) { d.sendSaid(id, said) }
	task.Log, task.Note = choice.Log, func(data any) error { return d.noteWithin(limit, id, data) }
	d.shareSetup(task, id, choice.Turns)
	decider := d.flow.runner.cfg.Decider
	end := func(target, reasoning string, err error) {
		defer cancel(nil)
		event := machine.Event{Kind: machine.Decided, Task: id, At: d.now(), Target: target, Reasoning: reasoning}
		if err != nil {
			event.Target, event.Reasoning, event.Failure = "", "", plainFailure(toFailure(ctx, err))
		}
		d.sendEvent(event)
	}
	switch {
	case d.host != nil:
		d.cancel[id] = d.host.Start(&Job{Task: task, Choice: &choice, Decided: end})
		return
	case decider == nil:
		decider = noDecider{}
	}
	d.pace.Go(func() { end(decider.Decide(ctx, task, choice)) })
}

// noDecider fails all decisions.
type noDecider struct{}

func (noDecider) Decide(context.Context, *Task, handler.Choice) (target, reasoning string, err error) {
	return "", "", &Failure{Kind: "llm", Message: "no model is configured"}
}

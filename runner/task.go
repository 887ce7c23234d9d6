// Running a handler, and what its end means.

package runner

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/machine"
)

// startTask runs a handler in a goroutine of its own. Its context is not the
// run's: only the machine cancels tasks, so that every cancellation is an event.
func (d *driver) startTask(ctx context.Context, c *machine.Command) {
	id, work, bound := c.Task, c.Work, d.state.ValueBound()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel[id] = func() { cancel(context.Canceled) }
	task := &Task{
		RunID: d.opts.RunID, Node: d.nested.path(id.Node), Kind: work.Kind, Visit: id.Visit, Attempt: id.Attempt, Index: work.Index, Item: work.Item,
		Elements: d.nested.widest(work.Elements), Place: d.nested.placeOf(id.Node, work.Index),
		Key: work.Key, Config: work.Config, Input: work.Input, State: work.State, Dir: d.opts.Dir,
		Log: work.Log, Answers: work.Answers, Note: func(data any) error { return d.noteWithin(bound, id, data) },
		Talk: d.talkOf(work.Talk), WantsText: d.flow.tree.Plan.WantsText(id.Node),
	}
	hush := d.listen(task, id)
	reason := ""
	task.Because = func(word string) { reason = word }
	task.Partial = func(data any) { d.keepPartial(id, data) }
	graphs := d.toolGraphs(id, work)
	if graphs != nil {
		go graphs.passCalls(ctx)
		task.Beside = graphs.beside
		task.CallGraph = func(ctx context.Context, call handler.GraphCall) (any, error) { return graphs.run(ctx, task, call) }
	}
	task.RunDir = d.folder.Make
	d.share(task)
	d.access(task, id, work.Turns)
	handler := d.flow.runner.handlers[work.Kind]
	child := &childEnd{}
	if work.Kind == flowtree.GraphKind {
		d.inside[id] = make(chan insideCall, 64)
		handler = d.subgraph(id, work, d.takeResting(id), child)
	}
	hit := false
	if d.setup.err != nil {
		handler = d.unready()
	}
	if d.plan.SeesRunDir() {
		handler = inFolder(handler)
	}
	handler = d.cached(work, &hit, handler)
	turn := d.pace.Turn()
	go func() {
		turn()
		defer d.pace.Release()
		event := d.attempt(ctx, task, handler)
		if failure := bound.Check(event.Output, "the output"); failure != nil {
			event.Output, event.Talk, event.Failure = nil, nil, failure
		}
		hush()
		event.Cached, event.Reason = hit, reason
		if work.Kind == flowtree.GraphKind {
			event.Child = &child.ChildEnd
		}
		if ended := graphs.ended(); ended != nil {
			event.Child = ended
		}
		cancel(nil)
		event.Task, event.At = id, d.now()
		d.send(message{event: event, resting: child.resting})
	}()
}

// attempt runs a handler once and turns whatever it does into an event.
func (d *driver) attempt(ctx context.Context, task *Task, handler Handler) machine.Event {
	a := task.Try(ctx, HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		return d.withHooks(ctx, task, handler)
	}))
	return machine.Event{Kind: machine.TaskEnded, Output: a.Output, Failure: a.Failure, Park: a.Park, Talk: a.Talk}
}

// asFailure turns an error into a failure with a kind.
func asFailure(ctx context.Context, err error) *Failure {
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.Is(err, errHandlerPanic):
		return &Failure{Kind: "internal", Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{Kind: "timeout", Message: err.Error()}
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return &Failure{Kind: "cancelled", Message: err.Error()}
	}
	return &Failure{Kind: "failed", Message: err.Error()}
}

// plainFailure makes a failure's details canonical data, so that they are the
// same when they come back from a journal.
func plainFailure(f *Failure) *Failure {
	if f.Details == nil {
		return f
	}
	out := *f
	details, err := eval.Canonical(f.Details)
	if err != nil {
		details = map[string]any{"error": "the details are no plain data: " + err.Error()}
	}
	out.Details, _ = details.(map[string]any)
	return &out
}

// errHandlerPanic marks the failure of a handler that panicked.
var errHandlerPanic = errors.New("the handler panicked")

// inFolder makes the folder before a handler of a flow whose expressions name it.
func inFolder(handler Handler) Handler {
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		if _, err := task.RunDir(); err != nil {
			return nil, err
		}
		return handler.Run(ctx, task)
	})
}

// Running handlers, and calling deciders.

package runner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// startTask runs a handler in a goroutine. The end of ctx does not cancel the handler: only the machine
// cancels tasks, so that every cancellation is an event.
func (d *driver) startTask(ctx context.Context, c *machine.Command) {
	id, work, limit := c.Task, c.Work, d.state.ValueLimit(c.Task)
	d.places[id] = work.Place
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel[id] = func() { cancel(context.Canceled) }
	task := d.newTask(id, &work.Place, work.Graph, work.Index)
	task.Kind, task.Item = work.Kind, work.Item
	task.Key, task.Config, task.Input, task.State = work.Key, work.Config, work.Input, work.State
	task.Log, task.Answers = work.Log, work.Answers
	task.Note = func(data any) error { return d.sendNote(id, data, nil, limit) }
	task.Talk, task.WantsText = d.newTalk(work.Talk), work.Graph.WantsText(work.Node)
	task.Emit = func(said Said) { d.sendSaid(id, said) }
	endLog := attachLog(d.log, task, d.flow.tree.WritesSecret(task.Graph, path.Base(task.Node)))
	reason := ""
	task.SetReason = func(word string) { reason = word }
	task.SavePartial = func(data any) { d.storePartial(id, data) }
	task.RunDir = d.folder.Create
	if d.flow.tree.FindTree(work.Graph).HasGraphTools() {
		d.enableGraphCalls(id, task)
	}
	ready := d.attachSetup(task, id, work.Turns)
	handler := d.flow.runner.handlers[work.Kind]
	if d.host != nil {
		handler = HandlerFunc(deferToHost)
	}
	if work.Kind == "graph" {
		handler = HandlerFunc(beginGraph)
	}
	if ready.err != nil {
		failure := &Failure{Kind: "expression", Message: "tools and providers: " + ready.err.Error()}
		handler = HandlerFunc(func(context.Context, *Task) (any, error) { return nil, failure })
	}
	if d.plan.ReadsRunDir() {
		handler = folderHandler(handler)
	}
	hit := false
	handler = d.cachingHandler(work, &hit, handler)
	end := func(event machine.Event) {
		if failure := limit.Check(event.Output, "the output"); failure != nil {
			event.Output, event.Talk, event.Failure = nil, nil, failure
		}
		endLog()
		event.Cached, event.Reason = hit, reason
		cancel(nil)
		event.Task, event.At = id, d.now()
		d.sendEvent(event)
	}
	if d.host == nil {
		d.virtualClock.Go(func() { end(d.runAttempt(ctx, task, handler)) })
	} else if event := d.runAttempt(ctx, task, handler); event.Kind != "" {
		end(event)
	} else {
		d.startHostedTask(id, work, task, end)
	}
}

func (d *driver) newTask(id machine.TaskID, place *machine.Place, plan *machine.Plan, index int) *Task {
	return &Task{
		RunID: d.opts.RunID, Node: nodePath(place), Place: placePath(place, index), Visit: place.Visit, Attempt: max(1, id.Attempt),
		Index: index, Dir: d.graphDir(plan), Graph: plan.Graph, Scope: d.scope,
		Hooks: []Hooks{d.flow.runner.cfg.NodeHooks[nodePath(place)], d.flow.runner.cfg.Hooks},
	}
}

// graphDir returns the folder for relative paths of a graph.
func (d *driver) graphDir(plan *machine.Plan) string {
	if plan == d.plan {
		return d.opts.Dir
	}
	return filepath.Dir(plan.Graph.File.Name)
}

// nodePath returns the path of a node without elements and calls: outer/inner.
func nodePath(p *machine.Place) string { return withoutElements(p.Path()) }

// withoutElements drops the elements and calls from a path: outer[1]/inner is outer/inner.
func withoutElements(path string) string {
	if !strings.ContainsAny(path, "[#") {
		return path
	}
	return machine.WithoutIndexes(path)
}

// placePath returns the path of a task with elements and calls. Its own element is index, unless -1.
func placePath(p *machine.Place, index int) string {
	if index < 0 {
		return p.Path()
	}
	return p.Path() + "[" + strconv.Itoa(index) + "]"
}

// runAttempt runs a handler once and returns its result as an event. The event has no kind if the host
// runs the task.
func (d *driver) runAttempt(ctx context.Context, task *Task, handler Handler) machine.Event {
	var failed error
	a := task.RunHandler(ctx, HandlerFunc(func(ctx context.Context, task *Task) (output any, err error) {
		output, failed = d.runWithHooks(ctx, task, handler)
		return output, failed
	}))
	switch {
	case errors.Is(failed, errGraphBegins):
		return machine.Event{Kind: machine.GraphCalled}
	case errors.Is(failed, errHosted):
		return machine.Event{}
	}
	return endEvent(a)
}

func endEvent(a *handler.Attempt) machine.Event {
	return machine.Event{Kind: machine.TaskEnded, Output: a.Output, Failure: a.Failure, Asks: a.Asks, Talk: a.Talk}
}

// toFailure converts an error to a failure with a kind.
func toFailure(ctx context.Context, err error) *Failure {
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

// plainFailure returns the failure with its details as plain data, as a journal would return them.
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

// folderHandler returns a handler that first creates the folder of the run.
func folderHandler(handler Handler) Handler {
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		if _, err := task.RunDir(); err != nil {
			return nil, err
		}
		return handler.Run(ctx, task)
	})
}

// RunHandler runs a handler on the task once. The result is plain data. A panic becomes a failure.
func (t *Task) RunHandler(ctx context.Context, run Handler) (out *handler.Attempt) {
	defer func() {
		if v := recover(); v != nil {
			out = &handler.Attempt{Failure: toFailure(ctx, fmt.Errorf("%w: %v", errHandlerPanic, v))}
		}
	}()
	output, err := run.Run(ctx, t)
	var asked *handler.Interrupted
	if errors.As(err, &asked) {
		asks, bad := asked.PlainAsks()
		if bad == nil {
			return &handler.Attempt{Asks: asks}
		}
		err = bad
	}
	if err != nil {
		return &handler.Attempt{Failure: plainFailure(toFailure(ctx, err))}
	}
	plain, err := eval.Canonical(output)
	if err != nil {
		return &handler.Attempt{Failure: &Failure{Kind: "invalid_output", Message: "output is not plain data: " + err.Error()}}
	}
	return &handler.Attempt{Output: plain, Talk: t.Talk.Delta()}
}

// startDecision calls the decider. Without one the decision fails, so the fallback edge fires.
func (d *driver) startDecision(ctx context.Context, c *machine.Command) {
	id, choice, limit := c.Task, *c.Choice, d.state.ValueLimit(c.Task)
	d.places[id] = choice.Place
	seen := map[string]any{}
	for _, v := range choice.See {
		seen[v.Key] = v.Value
	}
	seen = d.mask.MaskState(choice.Graph.Graph, seen)
	choice.See = slices.Clone(choice.See)
	for i := range choice.See {
		choice.See[i].Value = seen[choice.See[i].Key]
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel[id] = func() { cancel(context.Canceled) }
	task := d.newTask(id, &choice.Place, choice.Graph, -1)
	task.Emit = func(said Said) { d.sendSaid(id, said) }
	task.Log, task.Note = choice.Log, func(data any) error { return d.sendNote(id, data, nil, limit) }
	d.attachSetup(task, id, choice.Turns)
	end := func(target, reasoning string, err error) {
		defer cancel(nil)
		event := machine.Event{Kind: machine.Decided, Task: id, At: d.now(), Target: target, Reasoning: reasoning}
		if err != nil {
			event.Target, event.Reasoning, event.Failure = "", "", plainFailure(toFailure(ctx, err))
		}
		d.sendEvent(event)
	}
	if d.host != nil {
		d.cancel[id] = d.host.Start(&Job{Task: task, Choice: &choice, Decided: end})
		return
	}
	d.virtualClock.Go(func() { end(d.flow.runner.cfg.Decider.Decide(ctx, task, choice)) })
}

// noDecider fails all decisions.
type noDecider struct{}

func (noDecider) Decide(context.Context, *Task, handler.Choice) (target, reasoning string, err error) {
	return "", "", &Failure{Kind: "llm", Message: "no model is configured"}
}

// Tasks on workers.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// Task is the activity: one attempt of one node, or a decision. Its errors are those of this
// worker: another one may do better.
func (w *Worker) Task(ctx context.Context, in *taskInput, seen *taskState) (out converter.RawValue, err error) {
	ctx, stop := w.beat(ctx, activity.GetInfo(ctx).TaskToken) // to read the flow may take a while, too
	defer stop()
	flow, err := w.flow(ctx, in)
	if err != nil {
		return out, err
	}
	j := &job{worker: w, ctx: ctx, in: in, state: seen, scope: handler.NewScope(&w.scope, ""), log: newTaskLog(ctx, w.blobs, in)}
	if j.secrets, err = openSecrets(in.Nonce, flow.GraphsAround(in.Task.Node)); err != nil {
		return w.keepResult(ctx, failureResult("invalid_input", err.Error()))
	}
	if err := errors.Join(j.secrets.unmark(in), j.secrets.unmark(seen)); err != nil {
		return out, err
	}
	task := j.task()
	if err := flow.Equip(task); err != nil {
		return out, temporal.NewNonRetryableApplicationError(err.Error(), "flow", err)
	}
	if activity.GetInfo(ctx).Attempt > 1 && !takesNoNotes(in.Task.Kind) {
		if err := j.recall(task); err != nil {
			return out, err
		}
	}
	if err := j.insert(in.Tape); err != nil {
		return w.keepResult(ctx, failureResult("failed", err.Error()))
	}
	defer j.log.close() // once the result is kept, so that a store that was away is back
	result := j.run(ctx, task)
	if err := j.tapeTo(result); err != nil {
		return out, err
	}
	var asked *temporal.CanceledError
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &asked) && result.Failure != nil {
		return out, errors.New("the worker stopped, or the cluster took it for gone") // the task runs elsewhere
	}
	if err := j.secrets.mark(result); err != nil {
		return out, err
	}
	return w.keepResult(ctx, result)
}

// job is a task at work.
type job struct {
	worker  *Worker
	ctx     context.Context
	in      *taskInput
	state   *taskState
	secrets *secrets
	scope   *handler.Scope
	log     *taskLog
	streams atomic.Int64 // that were opened

	handlers map[string]runner.Handler
	decider  runner.Decider
	tape     *cassette.Cassette // nil: nothing is recorded or played

	mu      sync.Mutex
	result  taskResult
	text    int            // bytes of it in the result
	said    io.WriteCloser // takes the text of the node; nil: none is open
	rooms   int            // reservations
	settles string         // the reservation of the next call
}

// maxText and maxSaid bound the texts that a result keeps: bytes, and pieces.
const (
	maxText = 64 << 10
	maxSaid = 500
)

// run runs the handler, or decides.
func (j *job) run(ctx context.Context, task *runner.Task) *taskResult {
	defer j.scope.Close()
	out := &taskResult{}
	do := j.handlers[j.in.Task.Kind]
	switch {
	case j.in.Choice != nil:
		do = runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (_ any, err error) {
			out.Target, out.Reasoning, err = j.decider.Decide(ctx, task, *j.in.Choice)
			return nil, err
		})
	case do == nil:
		return failureResult("internal", fmt.Sprintf("this worker has no handler for nodes of kind %q", j.in.Task.Kind))
	}
	out.Attempt = *task.Try(ctx, do)
	j.mu.Lock()
	defer j.mu.Unlock()
	out.Because, out.Hide, out.Said = j.result.Because, j.result.Hide, j.result.Said
	if out.Failure != nil {
		out.Partial = j.result.Partial
	}
	return out
}

// task returns the task as its handler gets it.
func (j *job) task() *runner.Task {
	t := j.in.Task
	t.State, t.Scope, t.Emit, t.OpenLog = j.state.State, j.scope, j.emit, j.openLog
	t.Note = func(data any) error { return j.note(&note{Data: data}) }
	t.Because = func(word string) { j.change(func(r *taskResult) { r.Because = word }) }
	t.Partial = func(data any) { j.change(func(r *taskResult) { r.Partial = data }) }
	t.RunDir = func() (string, error) {
		if err := os.MkdirAll(j.in.RunDir, 0o700); err != nil {
			return "", &runner.Failure{Kind: "failed", Message: "can't make the folder of the run: " + err.Error()}
		}
		return j.in.RunDir, nil
	}
	if j.in.Choice != nil {
		t.Log = j.in.Choice.Log
	}
	if j.in.Graphs {
		t.CallGraph, t.Beside = j.callGraph, j.beside
	}
	if t.Models == nil {
		t.Models = &handler.ModelAccess{}
	}
	t.Models.ModelDesk, t.Models.Secrets = (*desk)(j), j.secrets.forms()
	return &t
}

// change changes the result.
func (j *job) change(do func(*taskResult)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do(&j.result)
}

// emit writes text into the log and keeps the message for the result.
func (j *job) emit(said runner.Said) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if said.Type == "text" {
		if j.said == nil {
			j.said = j.openLog("", "text")
		}
		_, _ = j.said.Write([]byte(said.Text))
		if said.Final {
			_ = j.said.Close()
			j.said = nil
		}
	}
	j.keep(said)
}

// keep adds a message to the result. Pieces of text become one, to keep the history small.
func (j *job) keep(said runner.Said) {
	all := j.result.Said
	if said.Type == "text" || said.Type == "thinking" {
		said.Text = said.Text[:min(len(said.Text), max(0, maxText-j.text))]
		j.text += len(said.Text)
		if n := len(all); n > 0 && all[n-1].Type == said.Type && !all[n-1].Final && !all[n-1].Broken && !said.Final && !said.Broken {
			all[n-1].Text += said.Text
			return
		}
	}
	if len(all) < maxSaid || said.Type == "warning" || said.Final {
		j.result.Said = append(all, said)
	}
}

// note sends a note to the run.
func (j *job) note(n *note) (err error) {
	n.Task = j.in.ID
	if n.Recorded, err = j.recorded(); err != nil {
		return err
	}
	if err := j.secrets.mark(n); err != nil {
		return err
	}
	at := home(j.ctx)
	return retryStore(j.ctx, func() error {
		return j.worker.client.SignalWorkflow(j.ctx, at.ID, at.RunID, signalNote, n)
	})
}

// recall adds the notes of the task from a worker that was lost.
func (j *job) recall(task *runner.Task) error {
	at := home(j.ctx)
	reply, err := j.worker.client.QueryWorkflow(j.ctx, at.ID, at.RunID, queryLog, j.in.ID)
	if err != nil {
		return err
	}
	var notes []any
	if err := errors.Join(reply.Get(&notes), j.secrets.unmark(&notes)); err != nil {
		return err
	}
	task.Log = append(task.Log, notes...)
	return nil
}

// callGraph has the run drive a graph as a tool.
func (j *job) callGraph(ctx context.Context, call handler.GraphCall) (any, error) {
	sent, out := &graphCall{Task: j.in.ID, GraphCall: call}, taskResult{}
	if err := j.secrets.mark(sent); err != nil {
		return nil, err
	}
	if err := j.worker.update(ctx, home(j.ctx), updateGraph, sent, &out); err != nil {
		return nil, err
	}
	if err := j.secrets.unmark(&out); err != nil {
		return nil, err
	}
	return out.Return()
}

// beside tells the run how many calls the task makes side by side.
func (j *job) beside(change int) {
	_ = j.note(&note{Beside: change, Attempt: activity.GetInfo(j.ctx).Attempt}) // it fails when the task is over
}

// home returns the workflow of an activity.
func home(ctx context.Context) workflow.Execution { return activity.GetInfo(ctx).WorkflowExecution }

// update sends an update to a workflow, again while no worker answers.
func (w *Worker) update(ctx context.Context, at workflow.Execution, name string, arg, reply any) error {
	update := newUpdate(at, name, arg)
	for {
		err := retryStore(ctx, func() error { return update.send(ctx, w.client, reply) })
		if err == nil || ctx.Err() != nil || !isUnanswered(err) {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// desk accounts for the calls of models that a job makes.
type desk job

// Note journals a call.
func (d *desk) Note(data any, call handler.Usage) error {
	d.mu.Lock()
	settles := d.settles
	d.settles = ""
	d.mu.Unlock()
	return (*job)(d).note(&note{Data: data, Usage: &call, Settles: settles})
}

// Reserve keeps room in the run's budget, if it has one.
func (d *desk) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	if !d.in.Budget {
		return handler.NewReserved(r.Output, func(handler.Usage) {}), nil
	}
	d.mu.Lock()
	d.rooms++
	id := strconv.Itoa(d.rooms)
	d.settles = id
	d.mu.Unlock()
	base, known := r.Cost(r.Input, 0)
	more, _ := r.Cost(r.Input, 1000)
	sent := &reservation{Task: d.in.ID, ID: id, Input: r.Input, Output: r.Output, Known: known, Base: base, Each: (more - base) / 1000}
	var reply reserved
	if err := d.worker.update(d.ctx, home(d.ctx), updateReserve, sent, &reply); err != nil {
		return nil, err
	}
	if reply.Failure != nil {
		return nil, reply.Failure
	}
	return handler.NewReserved(reply.Output, func(handler.Usage) {}), nil
}

// Hide masks a text.
func (d *desk) Hide(secret string) {
	(*job)(d).change(func(r *taskResult) { r.Hide = append(r.Hide, secret) })
}

// Sleep waits.
func (d *desk) Sleep(ctx context.Context, wait time.Duration) error {
	if d.tape.Playing() {
		return ctx.Err()
	}
	return pause(ctx, wait)
}

// Now returns the worker's time.
func (d *desk) Now() time.Time { return time.Now() }

// Tasks on workers.

package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// Task is the activity of one attempt of a node, or of a decision. Its errors are problems of
// this worker alone.
func (w *Worker) Task(ctx context.Context, in *taskInput, seen *taskState) (out converter.RawValue, err error) {
	ctx, stop := w.sendHeartbeats(ctx, activity.GetInfo(ctx).TaskToken) // before the flow is read, which may take long
	defer stop()
	flow, err := w.loadFlow(ctx, in)
	if err != nil {
		return out, err
	}
	j := &job{worker: w, ctx: ctx, in: in, state: seen, scope: handler.NewScope(&w.scope, "")}
	if j.secrets, err = openSecrets(in.Nonce, flow.GraphsAround(in.Task.Node)); err != nil {
		return w.storeResult(ctx, newFailure("invalid_input", err.Error()))
	}
	if err := errors.Join(j.secrets.insertSecrets(in), j.secrets.insertSecrets(seen)); err != nil {
		return out, err
	}
	task, log := j.newTask(), newTaskLog(ctx, w.blobs, in)
	closeLog := runner.LogTask(task, log, logEvery, j.secrets.listForms())
	defer func() { // after the result is stored, when the payload store is reachable
		closeLog()
		log.closeLog()
	}()
	if err := flow.EquipTask(task); err != nil {
		return out, temporal.NewNonRetryableApplicationError(err.Error(), "flow", err)
	}
	if activity.GetInfo(ctx).Attempt > 1 && !makesNoCalls(in.Task.Kind) {
		if err := j.loadNotes(task); err != nil {
			return out, err
		}
	}
	if err := j.insertTape(in.Tape); err != nil {
		return w.storeResult(ctx, newFailure("failed", err.Error()))
	}
	result := j.runHandler(ctx, task)
	if err := j.saveRecording(); err != nil {
		return out, err
	}
	if j.tape.IsPlaying() {
		result.Used = j.tape.ListPlayed()
	}
	if ctx.Err() != nil && !hasType[*temporal.CanceledError](context.Cause(ctx)) && result.Failure != nil {
		return out, errors.New("the worker stopped, or the cluster took it for gone") // the task runs elsewhere
	}
	if err := j.secrets.replaceSecrets(result); err != nil {
		return out, err
	}
	return w.storeResult(ctx, result)
}

func newFailure(kind, message string) *taskResult {
	return &taskResult{Attempt: handler.Attempt{Failure: &runner.Failure{Kind: kind, Message: message}}}
}

// job is a running task. It implements handler.ModelAccounting.
type job struct {
	worker  *Worker
	ctx     context.Context
	in      *taskInput
	state   *taskState
	secrets *secrets
	scope   *handler.Scope

	handlers map[string]runner.Handler
	decider  runner.Decider
	tape     *cassette.Cassette // nil without recording and replay

	mu     sync.Mutex
	result taskResult
	text   int // bytes of text in the result
}

// maxText and maxSaid bound the bytes and the number of the messages in a result.
const (
	maxText = 64 << 10
	maxSaid = 500
)

// runHandler runs the handler, or makes the decision.
func (j *job) runHandler(ctx context.Context, task *runner.Task) *taskResult {
	defer j.scope.Close()
	do := j.handlers[j.in.Task.Kind]
	switch {
	case j.in.Choice != nil:
		do = runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			target, reasoning, err := j.decider.Decide(ctx, task, *j.in.Choice)
			j.changeResult(func(r *taskResult) { r.Target, r.Reasoning = target, reasoning })
			return nil, err
		})
	case do == nil:
		return newFailure("internal", fmt.Sprintf("this worker has no handler for nodes of kind %q", j.in.Task.Kind))
	}
	attempt := task.RunHandler(ctx, do)
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.result
	if out.Attempt = *attempt; out.Failure == nil {
		out.Partial = nil
	}
	return &out
}

func (j *job) newTask() *runner.Task {
	t := j.in.Task
	t.State, t.Scope, t.Emit = j.state.State, j.scope, j.addSaid
	t.Note = func(data any) error { return j.sendNote(&note{Data: data}) }
	t.SetReason = func(word string) { j.changeResult(func(r *taskResult) { r.Because = word }) }
	t.SavePartial = func(data any) { j.changeResult(func(r *taskResult) { r.Partial = data }) }
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
		t.CallGraph = func(ctx context.Context, call handler.GraphCall) (any, error) {
			return j.askRun(ctx, updateGraph, &graphCall{Task: j.in.ID, GraphCall: call})
		}
		t.AddParallel = func(change int) { // fails when the task is over
			_ = j.sendNote(&note{ParallelChange: change, Attempt: activity.GetInfo(j.ctx).Attempt})
		}
	}
	t.Models = cmp.Or(t.Models, &handler.ModelAccess{})
	t.Models.ModelAccounting, t.Models.Secrets = j, j.secrets.listForms()
	return &t
}

func (j *job) changeResult(do func(*taskResult)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do(&j.result)
}

// addSaid adds a message to the result. Pieces of text become one, to keep the history small.
func (j *job) addSaid(said runner.Said) {
	j.mu.Lock()
	defer j.mu.Unlock()
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

func (j *job) sendNote(n *note) error {
	n.Task = j.in.ID
	if err := errors.Join(j.saveRecording(), j.secrets.replaceSecrets(n)); err != nil {
		return err
	}
	at := currentWorkflow(j.ctx)
	return retryStore(j.ctx, func() error {
		return j.worker.client.SignalWorkflow(j.ctx, at.ID, at.RunID, signalNote, n)
	})
}

// loadNotes adds the notes of the task that a lost worker has sent.
func (j *job) loadNotes(task *runner.Task) error {
	at := currentWorkflow(j.ctx)
	reply, err := j.worker.client.QueryWorkflow(j.ctx, at.ID, at.RunID, queryLog, j.in.ID)
	if err != nil {
		return err
	}
	var notes []any
	if err := errors.Join(reply.Get(&notes), j.secrets.insertSecrets(&notes)); err != nil {
		return err
	}
	task.Log = append(task.Log, notes...)
	return nil
}

func currentWorkflow(ctx context.Context) workflow.Execution {
	return activity.GetInfo(ctx).WorkflowExecution
}

// askRun sends an update to the run and returns the reply. It repeats the update while no worker answers.
func (j *job) askRun(ctx context.Context, name string, arg any) (any, error) {
	var reply taskResult
	id, err := rand.Text(), j.secrets.replaceSecrets(arg)
	for retry := err == nil; retry; retry = ctx.Err() == nil && isUnanswered(err) && sleep(ctx, time.Second) == nil {
		err = retryStore(ctx, func() error { return sendUpdate(ctx, j.worker.client, currentWorkflow(ctx), id, name, &reply, arg) })
	}
	if err == nil {
		err = j.secrets.insertSecrets(&reply)
	}
	if err != nil {
		return nil, err
	}
	return reply.OutputOrFailure()
}

// Note journals a call of a model.
func (j *job) Note(data any, call handler.Usage) error {
	return j.sendNote(&note{Data: data, Usage: &call})
}

// Reserve reserves tokens of the run's budget, if it has one. The next Note settles them.
func (j *job) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	most := r.Output
	if j.in.Budget {
		reply, err := j.askRun(j.ctx, updateReserve, &reservation{j.in.ID, r})
		if err != nil {
			return nil, err
		}
		most, _ = reply.(int)
	}
	return handler.NewReserved(most, func(handler.Usage) {}), nil
}

// Hide masks a text.
func (j *job) Hide(secret string) {
	j.changeResult(func(r *taskResult) { r.Hide = append(r.Hide, secret) })
}

// Sleep waits, unless a recording is played.
func (j *job) Sleep(ctx context.Context, wait time.Duration) error {
	if j.tape.IsPlaying() {
		return ctx.Err()
	}
	return sleep(ctx, wait)
}

// Now returns the worker's time.
func (j *job) Now() time.Time { return time.Now() }

// Tasks at work on a worker.

package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// Task is the activity: one attempt of one node, or a decision.
func (w *Worker) Task(ctx context.Context, in *taskInput, seen *taskState) (converter.RawValue, error) {
	ctx, stop := w.beat(ctx, activity.GetInfo(ctx).TaskToken) // to make ready may take a while, too
	defer stop()
	flow, err := w.flow(ctx, in)
	if err != nil {
		return converter.RawValue{}, err // this worker's matter: another one may do better
	}
	j := &job{worker: w, ctx: ctx, in: in, state: seen, scope: handler.NewScope(&w.scope, "")}
	task := j.task()
	if err := flow.Equip(task); err != nil {
		return converter.RawValue{}, temporal.NewNonRetryableApplicationError(err.Error(), "flow", err)
	}
	if j.secrets, err = openSecrets(in.Nonce, flow.GraphsAround(in.Task.Node)); err != nil {
		return w.keepResult(ctx, failed("invalid_input", err.Error()))
	}
	if err := errors.Join(j.secrets.unmark(in), j.secrets.unmark(seen)); err != nil {
		return converter.RawValue{}, err
	}
	graph, wants := task.Graph, task.WantsText
	task = j.task()
	task.Graph, task.WantsText = graph, wants
	if activity.GetInfo(ctx).Attempt > 1 && !takesNoNotes(in.Task.Kind) {
		if err := j.recall(task); err != nil {
			return converter.RawValue{}, err
		}
	}
	if err := j.insert(in.Tape); err != nil {
		return w.keepResult(ctx, failed("failed", err.Error()))
	}
	defer j.closeLog() // once the result is kept, so that a store that was away is back
	result := j.run(ctx, task)
	if err := j.tapeTo(result); err != nil {
		return converter.RawValue{}, err
	}
	var asked *temporal.CanceledError
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &asked) && result.Failure != nil {
		return converter.RawValue{}, errors.New("the worker stopped, or was thought to be gone") // the task runs elsewhere
	}
	if err := j.secrets.mark(result); err != nil {
		return converter.RawValue{}, err
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

	handlers map[string]runner.Handler
	decider  runner.Decider
	tape     *cassette.Cassette // nil: there is none

	mu     sync.Mutex
	result taskResult
	text   int // bytes of it in the result
	rooms  int
	// settling is the reservation that the next call was made with.
	settling string
	streams  int64

	said io.WriteCloser // what the node says as text; nil: none is open

	logging sync.Mutex
	log     io.WriteCloser // nil: nothing was said yet
}

// maxText and maxSaid bound what is kept of what a task says: bytes of text, and pieces.
const (
	maxText = 64 << 10
	maxSaid = 500
)

// run runs the handler.
func (j *job) run(ctx context.Context, task *runner.Task) *taskResult {
	defer j.scope.Close()
	out := &taskResult{}
	if j.in.Choice != nil {
		target, reasoning, err := j.decider.Decide(ctx, task, *j.in.Choice)
		if err != nil {
			out.Attempt = *task.Try(ctx, runner.HandlerFunc(func(context.Context, *runner.Task) (any, error) { return nil, err }))
		}
		out.Target, out.Reasoning = target, reasoning
	} else {
		handler := j.handlers[j.in.Task.Kind]
		if handler == nil {
			return failed("internal", fmt.Sprintf("this worker has no handler for nodes of kind %q", j.in.Task.Kind))
		}
		out.Attempt = *task.Try(ctx, handler)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	out.Because, out.Hide, out.Said = j.result.Because, j.result.Hide, j.result.Said
	if out.Failure != nil {
		out.Partial = j.result.Partial
	}
	return out
}

// task is the task as its handler gets it.
func (j *job) task() *runner.Task {
	t := j.in.Task
	t.State, t.Scope, t.Emit, t.OpenLog = j.state.State, j.scope, j.emit, j.openLog
	t.Note = func(data any) error { return j.note(&note{Data: data}) }
	t.Because = func(word string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.result.Because = word
	}
	t.Partial = func(data any) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.result.Partial = data
	}
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
	t.Models.Desk, t.Models.Secrets = (*modelAccounts)(j), j.secrets.forms()
	return &t
}

// emit writes text into the log, and keeps what is said for those who attend the run:
// they are told when the task has ended.
func (j *job) emit(said runner.Said) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if said.Type == "text" {
		if j.said == nil {
			j.mu.Unlock()
			stream := j.openLog("", "text")
			j.mu.Lock()
			j.said = stream
		}
		_, _ = j.said.Write([]byte(said.Text))
		if said.Final {
			_ = j.said.Close()
			j.said = nil
		}
	}
	j.keep(said)
}

// keep adds to what the result tells. Pieces of text become one: in a history, what a
// model says word by word is worth no more than what it says.
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

// note keeps something in the journal of the run.
func (j *job) note(n *note) error {
	n.Task = j.in.ID
	recorded, err := j.recorded()
	if err != nil {
		return err
	}
	n.Recorded = recorded
	if err := j.secrets.mark(n); err != nil {
		return err
	}
	at := home(j.ctx)
	return retryStore(j.ctx, func() error {
		return j.worker.client.SignalWorkflow(j.ctx, at.ID, at.RunID, signalNote, n)
	})
}

// recall adds what the task noted before the worker that ran it was gone.
func (j *job) recall(task *runner.Task) error {
	at := home(j.ctx)
	reply, err := j.worker.client.QueryWorkflow(j.ctx, at.ID, at.RunID, queryLog, j.in.ID)
	if err != nil {
		return err
	}
	var texts []json.RawMessage
	if err := reply.Get(&texts); err != nil {
		return err
	}
	for _, text := range texts {
		n := note{}
		if err := decode(text, &n.Data); err != nil {
			return err
		}
		if err := j.secrets.unmark(&n); err != nil {
			return err
		}
		task.Log = append(task.Log, n.Data)
	}
	return nil
}

// callGraph has the run drive a graph as a tool.
func (j *job) callGraph(ctx context.Context, call handler.GraphCall) (any, error) {
	sent := &graphCall{Task: j.in.ID, GraphCall: call}
	if err := j.secrets.mark(sent); err != nil {
		return nil, err
	}
	var out taskResult
	if err := j.update(ctx, updateGraph, sent, &out); err != nil {
		return nil, err
	}
	if err := j.secrets.unmark(&out); err != nil {
		return nil, err
	}
	return out.Return(nil)
}

// beside tells the run how many calls the task makes side by side.
func (j *job) beside(change int) {
	_ = j.note(&note{Beside: change, Attempt: activity.GetInfo(j.ctx).Attempt}) // it fails when the task is over
}

// update has the workflow of the run do something.
func (j *job) update(ctx context.Context, name string, arg, reply any) error {
	return j.worker.update(ctx, home(j.ctx), name, arg, reply)
}

// home is the workflow of the run, of an activity.
func home(ctx context.Context) workflow.Execution { return activity.GetInfo(ctx).WorkflowExecution }

// update has a workflow do something.
func (w *Worker) update(ctx context.Context, at workflow.Execution, name string, arg, reply any) error {
	id := rand.Text() // so that asking again asks for the same
	for {
		err := retryStore(ctx, func() error {
			handle, err := w.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: at.ID, RunID: at.RunID, UpdateID: id, UpdateName: name, Args: []any{arg},
				WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			if err == nil {
				err = handle.Get(ctx, reply)
			}
			return err
		})
		if err == nil || ctx.Err() != nil || !isUnanswered(err) {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// The workflow is the host of the driver: it has the clock, and executes tasks as activities.

package engine

import (
	"errors"
	"path"
	"reflect"
	"slices"
	"strconv"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// alarm is a function to call at a time.
type alarm struct {
	at   time.Time
	ring func()
}

// Now returns the time of the workflow.
func (f *workflowRun) Now() time.Time { return workflow.Now(f.ctx) }

// AfterFunc makes Wait call ring after d.
func (f *workflowRun) AfterFunc(d time.Duration, ring func()) (stop func() bool) {
	a := &alarm{f.Now().Add(d), ring}
	later, _ := slices.BinarySearchFunc(f.alarms, a.at.Add(1), func(o *alarm, at time.Time) int { return o.at.Compare(at) })
	f.alarms = slices.Insert(f.alarms, later, a)
	return func() bool {
		n := len(f.alarms)
		f.alarms = slices.DeleteFunc(f.alarms, func(o *alarm) bool { return o == a })
		return len(f.alarms) < n
	}
}

// ringAlarms rings the alarms that are due.
func (f *workflowRun) ringAlarms() {
	for now := f.Now(); len(f.alarms) > 0 && !f.alarms[0].at.After(now); {
		a := f.alarms[0]
		f.alarms = f.alarms[1:]
		a.ring()
	}
}

// setTimer makes a timer fire at a time or before it. It does nothing for the zero time.
func (f *workflowRun) setTimer(at time.Time) {
	if at.IsZero() || !f.timer.IsZero() && !at.Before(f.timer) {
		return
	}
	f.timer = at
	timer := workflow.NewTimer(f.ctx, max(0, at.Sub(f.Now())))
	workflow.Go(f.ctx, func(ctx workflow.Context) {
		_ = timer.Get(ctx, nil) // nothing cancels it
		if f.timer.Equal(at) {
			f.timer = time.Time{}
		}
		f.fired++
	})
}

// AttachDrive stores the driver of the run.
func (f *workflowRun) AttachDrive(d *runner.Drive) { f.driver = d }

// Wait executes the requests of the driver until ready returns true or the run moves to a new workflow.
func (f *workflowRun) Wait(ready func() bool) error {
	for !ready() {
		f.startQueued()
		if ready() {
			break
		}
		if err := errors.Join(f.updateMemo(), f.continueAsNew()); err != nil {
			return err
		}
		at := time.Time{}
		if f.hasRoom() { // for the tasks that did not fit into this workflow task
			at = f.Now().Add(time.Millisecond)
		} else if len(f.alarms) > 0 {
			at = f.alarms[0].at
		}
		f.awaitUntil(at, func() bool { return ready() || f.mayContinueAsNew() })
		f.ringAlarms()
	}
	return nil
}

// receiveResults receives notes and results of tasks, and turns. A coroutine for each task would
// wake at every event.
func (f *workflowRun) receiveResults() {
	f.receiveNotes()
	f.receiveTurns()
	for _, c := range slices.Clone(f.calls) {
		if c.future.IsReady() {
			f.endCall(c, f.readActivityResult(c))
		}
	}
}

// call is a task that an activity executes.
type call struct {
	job    *runner.Job
	input  *taskInput
	state  *taskState
	future workflow.Future // of the activity
	cancel func()          // cancels the activity

	unwanted bool // the driver has cancelled it
	over     bool
	reserved []*handler.Reserved // tokens of the budget, for its calls of models
	noted    []any               // notes of the task, in this workflow
	// concurrent is how many calls the activity makes at once, in its attempt number attempt.
	concurrent int
	attempt    int32
}

// Start queues a task.
func (f *workflowRun) Start(job *runner.Job) (cancel func()) {
	f.started++
	c := &call{job: job, input: f.newInput(job), state: newTaskState(job.Task)}
	c.input.ID = strconv.Itoa(f.started)
	f.queue = append(f.queue, c)
	return func() { c.unwanted = true }
}

// startQueued starts as many tasks as may run, and cancels unwanted ones.
func (f *workflowRun) startQueued() {
	for _, c := range f.calls {
		if c.unwanted && c.cancel != nil {
			c.cancel()
			c.cancel = nil
		}
	}
	for _, c := range slices.Clone(f.queue) {
		if c.unwanted && !f.moving { // before it began
			f.endCall(c, newFailure("cancelled", "context canceled"))
		}
	}
	if at := workflow.GetInfo(f.ctx).GetCurrentHistoryLength(); at != f.sentAt {
		f.sent, f.sentAt = 0, at
	}
	for ; f.hasRoom() && f.sent < maxSent; f.sent++ {
		f.startActivity(f.queue[0])
	}
}

// hasRoom reports whether a queued task may start.
func (f *workflowRun) hasRoom() bool {
	return !f.moving && len(f.queue) > 0 && len(f.calls) < maxPending
}

func (f *workflowRun) findCall(id string) *call {
	if i := slices.IndexFunc(f.calls, func(c *call) bool { return c.input.ID == id }); i >= 0 {
		return f.calls[i]
	}
	return nil
}

// startActivity starts an activity for the first task of the queue.
func (f *workflowRun) startActivity(c *call) {
	input, err := converter.GetDefaultDataConverter().ToPayload(c.input)
	// Elements and branches see the same state, which is then stored once.
	state, stateErr := f.packState(c.state, c.input.Task.Index >= 0 || len(f.queue) > 9)
	if err := errors.Join(err, stateErr); err != nil {
		f.endCall(c, newFailure("internal", "a task can't be sent: "+err.Error()))
		return
	}
	queue := coreQueue(f.start.Queue, f.start.Core)
	if n := c.job.Task.Graph.Node(path.Base(c.job.Task.Node)); n != nil && c.job.Choice == nil && n.Queue.Value != "" {
		queue = nodeQueue(f.start.Queue, n.Queue.Value)
	}
	ctx, cancel := workflow.WithCancel(f.ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: attemptTime, HeartbeatTimeout: f.worker.heartbeat, WaitForCancellation: true,
		Summary: c.input.Task.Place, RetryPolicy: newRetryPolicy(),
	})
	c.future, c.cancel = workflow.ExecuteActivity(ctx, taskName, converter.NewRawValue(input), converter.NewRawValue(state)), cancel
	f.queue, f.calls = f.queue[1:], append(f.calls, c)
}

// newRetryPolicy is the policy for activities whose workers fail. The machine retries nodes.
func newRetryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 30 * time.Second}
}

// packState returns the payload of a state. A shared state is encoded once, and goes to the payload
// store from a smaller size on.
func (f *workflowRun) packState(s *taskState, isShared bool) (*common.Payload, error) {
	if isShared && f.packed != nil && reflect.DeepEqual(s.State, f.shared) {
		return f.packed, nil
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(s)
	if err == nil && isShared {
		payload.Metadata[sharedMetadata] = []byte("true")
		f.shared, f.packed = s.State, payload
	}
	return payload, err
}

// readActivityResult returns the result of an activity that has ended.
func (f *workflowRun) readActivityResult(c *call) *taskResult {
	var result taskResult
	err := c.future.Get(f.ctx, &result)
	switch {
	case hasType[*temporal.CanceledError](err):
		return newFailure("cancelled", "context canceled")
	case err != nil:
		return newFailure("internal", "activity: "+err.Error())
	}
	return &result
}

// endCall passes the result of a task to the driver.
func (f *workflowRun) endCall(c *call, r *taskResult) {
	isSame := func(o *call) bool { return o == c }
	f.queue, f.calls, c.over = slices.DeleteFunc(f.queue, isSame), slices.DeleteFunc(f.calls, isSame), true
	f.tape.addUsed(c.input, r.Used)
	for _, tokens := range c.reserved {
		tokens.Settle(handler.Usage{})
	}
	if c.job.Choice != nil {
		_, err := r.OutputOrFailure()
		c.job.Decided(r.Target, r.Reasoning, err)
		return
	}
	task := c.job.Task
	for _, text := range r.Hide {
		task.Models.Hide(text)
	}
	if r.Partial != nil {
		task.SavePartial(r.Partial)
	}
	for _, said := range r.Said {
		task.Emit(said)
	}
	if r.Because != "" {
		task.SetReason(r.Because)
	}
	c.job.End(&r.Attempt)
}

// makesNoCalls reports whether nodes of a kind call no tools and no models.
func makesNoCalls(kind string) bool { return kind == "exec" || kind == "http" }

func (f *workflowRun) newInput(job *runner.Job) *taskInput {
	in := &taskInput{
		Flow: f.digest, Nonce: f.start.Nonce, Task: *job.Task, Choice: job.Choice, Graphs: job.Call != nil, RunDir: f.start.RunDir,
		Budget: slices.ContainsFunc(f.flow.GraphsAround(job.Task.Node), func(g *spec.Graph) bool {
			return g.Limits.MaxTokens > 0 || g.Limits.MaxCostUSD > 0
		}),
	}
	in.Task.State = nil // the state is a separate argument
	if job.Choice != nil {
		in.Task.Kind = "llm"
	}
	if makesNoCalls(in.Task.Kind) {
		in.Graphs, in.Task.Tools, in.Task.Providers, in.Task.Talk, in.Task.Models = false, nil, nil, nil, nil
	} else {
		in.Tape = f.tape.newTaskTape(in)
	}
	return in
}

// newTaskState returns the part of the state that a task needs.
func newTaskState(t *runner.Task) *taskState {
	_, given := t.Config["stdin"]
	if t.Kind == "http" || t.Kind == "exec" && given { // the handler does not read the state
		return &taskState{}
	}
	return &taskState{t.State}
}

func (f *workflowRun) receiveNotes() {
	for n := new(note); f.notes.ReceiveAsync(n); n = new(note) {
		if c := f.findCall(n.Task); c != nil {
			c.forwardNote(n)
		}
	}
}

func (c *call) forwardNote(n *note) {
	task := c.job.Task
	if n.ParallelChange != 0 {
		c.countConcurrentCalls(n)
		return
	}
	c.noted = append(c.noted, n.Data)
	if n.Usage == nil {
		_ = task.Note(n.Data)
		return
	}
	_ = task.Models.Note(n.Data, *n.Usage)
	if last := len(c.reserved) - 1; last >= 0 { // for this call
		c.reserved[last].Settle(*n.Usage)
		c.reserved = c.reserved[:last]
	}
}

// countConcurrentCalls reports changes in the number of concurrent calls of a task to the driver. It
// does not count calls of a lost activity.
func (c *call) countConcurrentCalls(n *note) {
	if c.job.Task.AddParallel == nil || n.Attempt < c.attempt {
		return
	}
	change := n.ParallelChange
	if n.Attempt > c.attempt {
		change -= c.concurrent
		c.attempt = n.Attempt
	}
	c.concurrent += change
	c.job.Task.AddParallel(change)
}

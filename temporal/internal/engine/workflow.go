// The workflow of a run.

package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// limits of a workflow.
const (
	// maxPending is how many activities are open at once; the cluster takes 2,000.
	maxPending = 1000
	// maxConcurrency bounds max_concurrency. What is under way ends before a run moves to a
	// new history, so the old one grows by it.
	maxConcurrency = 500
	// maxSent is how many bytes of tasks are sent at once, the one task that exceeds it
	// included; the cluster ends workflows that send 4 MB.
	maxSent = 1 << 20
	// maxEvents is how many events a history may have before the run continues in a new
	// one. The cluster allows 51,200.
	maxEvents = 10000
	// attemptTime bounds an activity that nothing else bounds: the machine has its own
	// timers.
	attemptTime = 365 * 24 * time.Hour
)

// workflowRun is a run inside its workflow.
type workflowRun struct {
	ctx    workflow.Context // which nothing cancels
	worker *Worker
	host   *host
	sent   int // bytes, in the workflow task that began with a history so long:
	sentAt int
	// calls are under way by id, in order; queue waits for room.
	calls    []*call
	cancels  map[string]workflow.CancelFunc
	queue    []*call
	inbox    []message
	notes    workflow.ReceiveChannel // of the tasks at work
	timer    time.Time               // when the timer goes off that is open; zero: none is
	told     standing
	seen     map[string]any  // the state that was shared last, and its payload
	packed   *common.Payload // nil: none was
	driving  bool
	before   *runner.Result // of the drive before; nil: there was none
	next     *Start         // what the run goes on with in a new workflow, as somebody asked; nil: nothing
	moving   bool           // nothing more is begun: the run goes on in a new workflow
	events   int            // the history may have
	group    groupClient
	settings *runner.Options // of the drive that goes on
	// resumed is told why a drive is refused, or nil, when that is known; nil: nobody waits.
	resumed func(why error)
}

// Run is the workflow.
func (w *Worker) Run(ctx workflow.Context, start *Start, snapshot, journal []byte) (out *Outcome, err error) {
	if start.Core != w.core {
		panic(fmt.Sprintf(wrongVersion+"it has core version %d, the run wants %d", w.core, start.Core))
	}
	if err := start.addJournal(snapshot, journal); err != nil {
		return nil, err
	}
	own, _ := workflow.NewDisconnectedContext(ctx)
	h, err := newHost(start, workflow.Now(ctx))
	if err != nil {
		panic(wrongVersion + err.Error()) // it is left to others
	}
	_, _ = w.flows.get(h.digest, func() (*runner.Flow, error) { return h.flow, nil })
	f := &workflowRun{
		ctx: own, worker: w, host: h, cancels: map[string]workflow.CancelFunc{}, events: w.events,
	}
	defer func() { h.leave(slices.Concat(f.calls, f.queue)) }()
	if err := f.listen(ctx); err != nil {
		return nil, err
	}
	f.driving, f.settings = true, &start.Settings
	f.beginTask()
	h.begin()
	for {
		due, done := h.stage.Settle(workflow.Now(own))
		f.replyResumed(done)
		f.carryOut()
		if done && f.driving {
			if f.keepsNothing() {
				return nil, f.refuse()
			}
			f.driving = false
			if f.settle(); f.driving {
				continue
			}
		}
		if err := f.tell(); err != nil {
			return nil, err
		}
		if !f.driving && h.result != nil && h.result.Status != machine.Paused {
			return f.ended()
		}
		if f.next != nil {
			f.replyToAll()
			return nil, f.next.again(ctx)
		}
		if out, err, moved := f.move(ctx, start); moved {
			return out, err
		}
		switch now := workflow.Now(own); {
		case !f.driving:
			f.leaveGroup()
			due = f.due()
		case f.full() && (due.IsZero() || due.After(now)):
			due = now.Add(time.Millisecond)
		}
		f.wait(due)
	}
}

// beginTask tells the journal of a workflow task, before that adds to it.
func (f *workflowRun) beginTask() {
	f.host.store.beginTask(workflow.GetInfo(f.ctx).GetCurrentHistoryLength(), workflow.IsReplaying(f.ctx))
}

// await waits until something holds. The journal is told of every workflow task, also of
// those that the run waits through.
func (f *workflowRun) await(holds func() bool) {
	_ = workflow.Await(f.ctx, func() bool { // nothing cancels it
		f.beginTask()
		return holds()
	})
}

// replyToAll gives a reply to whoever waits for one.
func (f *workflowRun) replyToAll() {
	for !workflow.AllHandlersFinished(f.ctx) || f.readable() >= 0 {
		for f.readable() >= 0 {
			f.read()
		}
		f.await(func() bool { return f.readable() >= 0 || workflow.AllHandlersFinished(f.ctx) })
	}
}

// replyResumed tells whoever resumed the run what came of it, once it is known whether the
// run is inside of its group.
func (f *workflowRun) replyResumed(done bool) {
	if f.resumed == nil || !done && f.host.store.entering() {
		return
	}
	var why error
	if done {
		why = f.host.err
	}
	f.resumed(why)
	f.resumed = nil
}

// ended is the outcome of a run that has ended.
func (f *workflowRun) ended() (*Outcome, error) {
	f.replyToAll()
	if err := f.leave(); err != nil {
		return nil, err
	}
	f.awaitLeft()
	f.replyToAll()
	r := f.host.result
	return &Outcome{Status: r.Status, Reason: r.Reason, Steps: r.Steps, Unused: r.Unused}, nil
}

// settle looks at the result of a drive. What was refused leaves the run as it was.
func (f *workflowRun) settle() {
	h := f.host
	f.noSlot(h.err)
	if h.err != nil && f.before == nil && (f.group.busy != nil || errors.Is(h.err, store.ErrStopped)) {
		if _, cancels := f.group.stopped.Cancels(); cancels && h.start.Seed.Fork { // it began on paper
			f.driving = true
			h.cancel()
			return
		}
		if h.err = nil; h.result == nil { // it is as the run was
			h.result, h.err = h.runner.Show(h.start.Record.ID, runner.Options{})
		}
	}
	if h.err == nil {
		f.before = h.result
		return
	}
	if f.before == nil {
		panic("the run can't be driven: " + h.err.Error())
	}
	h.result, h.err = f.before, nil
}

// due is when a run that pauses goes on by itself.
func (f *workflowRun) due() time.Time {
	if !f.group.again.IsZero() {
		return f.group.again
	}
	if r := f.host.result; r != nil && r.Due != nil && r.Reason != "pause" {
		return *r.Due
	}
	return time.Time{}
}

// carryOut begins what the run wants done, and cancels what it does not want any more.
func (f *workflowRun) carryOut() {
	f.claimSlot()
	f.queue = append(f.queue, f.host.take()...)
	for _, c := range f.calls {
		if cancel := f.cancels[c.id]; cancel != nil && c.ctx.Err() != nil {
			cancel()
			delete(f.cancels, c.id)
		}
	}
	for _, c := range slices.Clone(f.queue) {
		if c.ctx.Err() != nil && !f.moving { // before it began
			f.queue = slices.DeleteFunc(f.queue, func(o *call) bool { return o == c })
			f.calls = append(f.calls, c)
			c.result = failed("cancelled", "context canceled")
			f.post(func() { f.taskEnded(c) })
		}
	}
	for f.mayLaunch() {
		c := f.queue[0]
		f.queue = f.queue[1:]
		f.calls = append(f.calls, c)
		f.launch(c)
	}
}

// failed is the result of a task that failed.
func failed(kind, message string) *taskResult {
	return &taskResult{Attempt: handler.Attempt{Failure: &runner.Failure{Kind: kind, Message: message}}}
}

// takeResult takes the result of an activity that has ended.
func (f *workflowRun) takeResult(c *call) {
	var result taskResult
	err := c.future.Get(f.ctx, &result)
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &cancelled):
		result = *failed("cancelled", "context canceled")
	case err != nil:
		result = *failed("internal", "activity: "+err.Error())
	}
	c.result, c.future = &result, nil
	f.post(func() { f.taskEnded(c) })
}

// collect looks for messages: what tasks have noted before that they have ended. A
// coroutine for each call would do so too, but all of them wake whenever anything
// happens.
func (f *workflowRun) collect() bool {
	f.takeNotes()
	f.takeTurns()
	for _, c := range f.calls {
		if c.future != nil && c.future.IsReady() {
			f.takeResult(c)
		}
	}
	return f.readable() >= 0 || f.mayMove()
}

// mayMove reports whether all has ended that the run waits for before it moves.
func (f *workflowRun) mayMove() bool {
	return f.moving && f.driving && len(f.calls)+len(f.inbox) == 0 && f.group.idle() && workflow.AllHandlersFinished(f.ctx)
}

// wait waits for a message, at most until due, and reads it.
func (f *workflowRun) wait(due time.Time) {
	if !due.IsZero() && (f.timer.IsZero() || due.Before(f.timer)) {
		at := due
		f.timer = at
		timer := workflow.NewTimer(f.ctx, max(0, at.Sub(workflow.Now(f.ctx))))
		workflow.Go(f.ctx, func(own workflow.Context) {
			_ = timer.Get(own, nil) // nothing cancels it
			if f.timer.Equal(at) {
				f.timer = time.Time{}
			}
			f.post(f.timeOver)
		})
	}
	f.await(f.collect)
	f.host.stage.Reach(workflow.Now(f.ctx))
	f.read()
}

// timeOver drives a run on that pauses until now.
func (f *workflowRun) timeOver() {
	if due := f.due(); !f.driving && !due.IsZero() && !workflow.Now(f.ctx).Before(due) {
		f.goOn()
	}
}

// resume drives the run on, since somebody wants it.
func (f *workflowRun) resume(s *runner.Options) {
	f.driving, f.settings, f.group.alone = true, s, false
	f.host.resume(s)
}

// goOn drives the run on by itself.
func (f *workflowRun) goOn() {
	f.resume(&runner.Options{Rush: f.host.tape.plays()})
	f.group.alone = true
}

func (f *workflowRun) find(id string) *call {
	for _, c := range f.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// tell says in the workflow's memo how the run stands, when that is news.
func (f *workflowRun) tell() error {
	if f.host.store.entering() {
		return nil
	}
	s := f.host.store.stands(&f.host.start.Record)
	s.Driven, s.Busy = f.driving, f.group.busy
	if s.Status == f.told.Status && s.Reason == f.told.Reason && s.Driven == f.told.Driven && (s.Busy == nil) == (f.told.Busy == nil) && s.Due.Equal(f.told.Due) {
		return nil
	}
	f.told = s
	s.Updated = workflow.Now(f.ctx)
	return workflow.UpsertMemo(f.ctx, map[string]any{memoStatus: s})
}

// move lets the run go on in a new workflow when the history of this one is long:
// what is under way ends first, and nothing else begins.
func (f *workflowRun) move(ctx workflow.Context, start *Start) (*Outcome, error, bool) {
	info := workflow.GetInfo(ctx)
	if !f.driving {
		return nil, nil, false // who takes it up drives it, and moves then
	}
	if !f.moving && (info.GetCurrentHistoryLength() > f.events || info.GetContinueAsNewSuggested()) {
		f.moving = true
	}
	if !f.mayMove() {
		return nil, nil, false
	}
	next := *start
	next.Session, next.Before = nil, nil
	next.Settings = runner.Options{
		Dir: start.Settings.Dir, Answers: f.host.stage.AnswersLeft(), By: start.Settings.By,
		PauseBefore: start.Settings.PauseBefore, PauseAfter: start.Settings.PauseAfter, Rush: f.host.tape.plays(),
	}
	next.Tape = f.host.tape
	next.Seed = f.host.store.seed(info.WorkflowExecution.RunID)
	f.stillOutside(&next)
	return nil, next.again(ctx), true
}

// again ends a workflow so that the run goes on in a new one.
func (s *Start) again(ctx workflow.Context) error {
	journal, err := s.journal()
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, workflowName, s, s.snapshot(), journal)
}

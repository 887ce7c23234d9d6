// The workflow of a run.

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Limits of a workflow.
const (
	// maxPending is how many activities are open at once; the cluster allows 2,000.
	maxPending = 1000
	// maxConcurrency limits max_concurrency, since running tasks end in the old history of a run that moves.
	maxConcurrency = 500
	// maxSent is how many tasks start in one workflow task. Each has two values below largestPayload,
	// and the cluster ends workflows that send 4 MB at once.
	maxSent = 25
	// maxEvents is the length of a history after which the run moves; the cluster allows 51,200.
	maxEvents = 10000
	// attemptTime limits an activity for the cluster: the machine has its own timers.
	attemptTime = 365 * 24 * time.Hour
)

// workflowRun is a run inside its workflow. It is the host of the run's driver.
type workflowRun struct {
	ctx    workflow.Context // of the coroutine that drives the run; nothing cancels it
	worker *Worker
	start  *Start
	digest string
	runner *runner.Runner
	flow   *runner.Flow
	store  *journal
	tape   *tape // nil without recording and replay

	current   *drive         // nil while the run pauses, and after its end
	next      *drive         // that follows a pause
	driver    *runner.Drive  // of the current drive, once it has begun
	result    *runner.Result // of the drives so far
	over      bool
	moving    bool   // no task starts any more: the run is about to continue in a new workflow
	successor *Start // the input of the next workflow, once the run moves there
	slot      *groupSlot
	stopped   store.Request // the request that stopped a driver that waited for its slot
	retryAt   time.Time     // when the run asks again for a slot that it may not wait for
	sentMemo  memo

	started int     // tasks
	queue   []*call // wait for room
	calls   []*call // run
	notes   workflow.ReceiveChannel
	turns   workflow.ReceiveChannel
	sent    int // tasks, in the workflow task that began with a history of sentAt events
	sentAt  int
	shared  map[string]any // the state that tasks got last, and its payload
	packed  *common.Payload
	alarms  []*alarm  // the next one first
	timer   time.Time // when the open timer fires, or zero without one
	fired   int       // timers
}

// drive is one stretch of a run, until it pauses or ends.
type drive struct {
	do            func() (*runner.Result, error)
	settings      *runner.Options
	resumesItself bool // no request asked for it
}

// Run is the workflow.
func (w *Worker) Run(ctx workflow.Context, start *Start, snapshot []byte, events []json.RawMessage) (*Outcome, error) {
	if start.Core != w.core {
		panic(fmt.Sprintf(wrongVersion+"it has core version %d, the run wants %d", w.core, start.Core))
	}
	if start.Seed != nil {
		start.Seed.Snapshot, start.Seed.Events = snapshot, events
	}
	f, err := w.newRun(ctx, start)
	if err != nil {
		panic(wrongVersion + err.Error()) // another worker may have this version
	}
	f.next = &drive{do: f.beginDrive, settings: &start.Settings} // before registerHandlers lets handlers run
	if err := f.registerHandlers(ctx); err != nil {
		return nil, err
	}
	for f.successor == nil {
		if err := f.runDrive(); err != nil {
			return nil, err
		}
		switch {
		case f.successor != nil:
		case f.result.Status != machine.Paused:
			return f.endRun()
		default:
			if err := f.awaitNext(); err != nil {
				return nil, err
			}
		}
	}
	return nil, workflow.NewContinueAsNewError(ctx, workflowName, f.successor.workflowArguments()...)
}

// newRun prepares a run. It fails if this worker can't run its version.
func (w *Worker) newRun(ctx workflow.Context, start *Start) (*workflowRun, error) {
	f := &workflowRun{worker: w, start: start, digest: computeDigest(&start.Record), tape: start.Tape}
	f.ctx, _ = workflow.NewDisconnectedContext(ctx)
	f.store = newJournal(start)
	f.store.run, f.slot = f, &f.store.slot
	var err error
	f.runner, f.flow, err = newFlowRunner(&start.Record, runner.Config{Host: f, Store: f.store, Secrets: markSecrets(start.Nonce)})
	if err == nil {
		_, err = w.flows.getOrRead(f.digest, func() (*runner.Flow, error) { return f.flow, nil })
	}
	return f, err
}

// beginDrive begins the run, or resumes it if its start has a journal.
func (f *workflowRun) beginDrive() (*runner.Result, error) {
	record, opts := &f.start.Record, f.newDriveOptions(&f.start.Settings)
	switch {
	case f.start.Before != nil:
		return f.runner.ResumeWith(context.Background(), record.ID, f.flow.Graph(), opts)
	case f.start.Seed != nil:
		return f.runner.Resume(context.Background(), record.ID, opts)
	}
	opts.RunID, opts.Labels, opts.Session = record.ID, record.Labels, record.Session
	if opts.MaxConcurrency == 0 && f.flow.Graph().Limits.MaxConcurrency > maxConcurrency {
		opts.MaxConcurrency = maxConcurrency
	}
	return f.flow.Run(context.Background(), opts)
}

func (f *workflowRun) newDriveOptions(s *runner.Options) runner.Options {
	opts := *s
	opts.Park, opts.History = 0, false
	opts.MaxConcurrency = min(opts.MaxConcurrency, maxConcurrency)
	opts.Sink, opts.Dir = f.store, cmp.Or(opts.Dir, f.start.Settings.Dir, filepath.Dir(f.start.Record.File))
	return opts
}

// newSelfResume returns the drive of a run that resumes itself.
func (f *workflowRun) newSelfResume() *drive {
	opts := f.newDriveOptions(&runner.Options{Rush: f.tape.isPlaying()})
	return &drive{settings: &opts, resumesItself: true, do: func() (*runner.Result, error) {
		return f.runner.Resume(context.Background(), f.start.Record.ID, opts)
	}}
}

func (f *workflowRun) cancelRun() (*runner.Result, error) { return f.runner.Cancel(f.start.Record.ID) }

// runDrive drives the run until it pauses, ends, or moves to a new workflow. A refused drive changes
// nothing.
func (f *workflowRun) runDrive() error {
	d := f.next
	f.current, f.next, f.retryAt = d, nil, time.Time{}
	f.beginTask()
	result, err := d.do()
	f.driver = nil
	f.startQueued()
	if f.successor != nil {
		return nil
	}
	busy, isStopped := (*store.BusyError)(nil), errors.Is(err, store.ErrStopped)
	if errors.As(err, &busy) && d.resumesItself {
		f.retryAt = f.Now().Add(retrySlotEvery)
	}
	if result == nil && (busy != nil || isStopped) {
		result, _ = f.runner.Show(f.start.Record.ID, runner.Options{})
	}
	if _, cancels := f.stopped.CancelReason(); isStopped && cancels && (result.Status == machine.Running || result.Reason == "concurrency") {
		result, err = f.cancelRun() // the drive has not begun
		f.driver = nil
	}
	switch {
	case err == nil || f.result == nil && result != nil:
		f.result = result
	case f.result == nil:
		return temporal.NewNonRetryableApplicationError(formatProblems(err), "refused", err)
	}
	f.current = nil
	return f.updateMemo()
}

// awaitNext waits until the run has its next drive, or continues in a new workflow.
func (f *workflowRun) awaitNext() error {
	for {
		if err := f.updateMemo(); err != nil {
			return err
		}
		due := f.retryAt // when the run resumes itself, or zero
		if r := f.result; due.IsZero() && r.Due != nil && r.Reason != "pause" {
			due = *r.Due
		}
		switch {
		case f.successor != nil:
			f.awaitHandlers()
			return nil
		case f.next != nil:
			return nil
		case !due.IsZero() && !f.Now().Before(due):
			f.next = f.newSelfResume()
			return nil
		}
		f.awaitUntil(due, func() bool { return f.next != nil || f.successor != nil || f.isMemoStale() })
	}
}

func (f *workflowRun) endRun() (*Outcome, error) {
	f.over = true
	f.awaitHandlers()
	if err := f.saveSession(); err != nil {
		return nil, err
	}
	f.awaitHandlers()
	r := f.result
	return &Outcome{Status: r.Status, Reason: r.Reason, Steps: r.Steps, Unused: r.Unused}, nil
}

// awaitHandlers waits until all updates have a reply.
func (f *workflowRun) awaitHandlers() {
	f.await(func() bool { return workflow.AllHandlersFinished(f.ctx) })
}

// beginTask notes the current workflow task in the journal, before the task adds to it.
func (f *workflowRun) beginTask() {
	f.store.beginTask(workflow.GetInfo(f.ctx).GetCurrentHistoryLength(), workflow.IsReplaying(f.ctx))
}

// awaitUntil waits until a condition holds, or until a time if it is not zero.
func (f *workflowRun) awaitUntil(at time.Time, holds func() bool) {
	f.setTimer(at)
	fired := f.fired
	f.await(func() bool {
		f.receiveResults()
		return holds() || f.fired != fired
	})
}

// await waits until a condition holds. It notes every workflow task in the journal.
func (f *workflowRun) await(holds func() bool) {
	_ = workflow.Await(f.ctx, func() bool { // nothing cancels it
		f.beginTask()
		return holds()
	})
}

// updateMemo updates the memo of the workflow if it is out of date.
func (f *workflowRun) updateMemo() error {
	if !f.isMemoStale() {
		return nil
	}
	f.sentMemo = f.newMemo()
	f.sentMemo.Updated = f.Now()
	return workflow.UpsertMemo(f.ctx, map[string]any{memoStatus: f.sentMemo})
}

// isMemoStale reports whether the memo is out of date.
func (f *workflowRun) isMemoStale() bool {
	m, t := f.newMemo(), &f.sentMemo
	isSame := m.Status == t.Status && m.Reason == t.Reason && m.Driven == t.Driven && m.Due.Equal(t.Due)
	return !isSame && !f.store.isEntering()
}

func (f *workflowRun) newMemo() memo {
	m := newMemo(&f.start.Record, f.store.summary)
	m.Driven = f.current != nil || f.successor != nil
	return m
}

// mayContinueAsNew reports whether the run may move to a new workflow now.
func (f *workflowRun) mayContinueAsNew() bool {
	return f.moving && len(f.calls) == 0 && !f.store.isEntering() && workflow.AllHandlersFinished(f.ctx)
}

// continueAsNew moves the run to a new workflow once its history is long. It first lets running tasks
// end and starts no others. It returns errMoved when the run moves.
func (f *workflowRun) continueAsNew() error {
	info := workflow.GetInfo(f.ctx)
	f.moving = f.moving || info.GetCurrentHistoryLength() > f.worker.events || info.GetContinueAsNewSuggested()
	if !f.mayContinueAsNew() {
		return nil
	}
	next := *f.start
	next.Session, next.Before = nil, nil
	next.Settings = runner.Options{
		Dir: f.start.Settings.Dir, By: f.start.Settings.By,
		PauseBefore: f.start.Settings.PauseBefore, PauseAfter: f.start.Settings.PauseAfter, Rush: f.tape.isPlaying(),
	}
	if f.driver != nil {
		next.Settings.Answers = f.driver.UnusedAnswers()
	}
	next.Tape, next.Seed = f.tape, f.store.newSeed(f.worker.blobs)
	if next.Claim, next.Turn = f.slot.claim, f.slot.turn; next.Turn != nil && !next.Turn.Inside { // the run keeps waiting in the new workflow
		next.Settings = *f.current.settings
		next.Settings.Dir = f.start.Settings.Dir
	}
	f.successor, f.store.failed = &next, errMoved
	return errMoved
}

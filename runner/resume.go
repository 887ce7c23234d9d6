// Resuming and cancelling runs.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// crashGap is the gap in event numbers after a crash, since the last numbers are unknown.
const crashGap = 1_000_000

// Resume continues a run that paused, crashed or ended without completing, in its own graph. Unfinished
// tasks run again as the same attempt. A completed run executes nothing. Errors are those of Run,
// store.ErrNoRun, and *store.DrivenError while another driver has the run.
func (r *Runner) Resume(ctx context.Context, runID string, opts Options) (*Result, error) {
	return r.withJournal(ctx, runID, openTries, func(journal store.Journal) (*Result, error) { return r.resumeRun(ctx, runID, opts, journal) })
}

// openTries bounds the attempts to open a journal, every 20 ms. A process that answers closes it soon.
const openTries = 50

// withJournal opens the journal of a run, calls do, and closes the journal.
func (r *Runner) withJournal(ctx context.Context, runID string, tries int, do func(journal store.Journal) (*Result, error)) (*Result, error) {
	if r.cfg.Store == nil {
		return nil, noStoreError(runID)
	}
	journal, err := r.cfg.Store.Open(runID, r.cfg.Owner)
	for driven := (*store.DrivenError)(nil); tries > 0 && errors.As(err, &driven); tries-- {
		if sleep(ctx, systemClock{}, 20*time.Millisecond) != nil {
			return nil, err
		}
		journal, err = r.cfg.Store.Open(runID, r.cfg.Owner)
	}
	if err != nil {
		return nil, err
	}
	result, err := do(journal)
	return result, errors.Join(err, journal.Close()) // do may have closed it
}

func noStoreError(runID string) error {
	return fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
}

func (r *Runner) resumeRun(ctx context.Context, runID string, opts Options, journal store.Journal) (*Result, error) {
	if err := killLeftovers(r.cfg.Store, runID); err != nil {
		return nil, err
	}
	d, err := r.loadDriver(runID, opts)
	if err != nil {
		return nil, err
	}
	if d.state.Status == machine.Completed {
		if err := d.refuseAnswers(); err != nil {
			return nil, err
		}
		return d.completedResult(journal)
	}
	if err := errors.Join(d.checkAnswers(), d.secretsErr); err != nil {
		return nil, err
	}
	if err := d.awaitSlot(ctx, journal); err != nil {
		result := d.recordedResult()
		d.emitRunEvent(RunFinished, d.now(), result)
		return result, errors.Join(err, d.sinkErr)
	}
	return d.continueRun(ctx, journal)
}

// completedResult returns the result of a completed run. It stores the summary and the session if the
// driver was killed before it could.
func (d *driver) completedResult(journal store.Journal) (*Result, error) {
	result := d.recordedResult()
	lines, err := d.flow.runner.cfg.Store.List(store.RunFilter{ID: d.opts.RunID})
	if err == nil && len(lines) == 1 && lines[0].Status != machine.Completed {
		err = journal.SaveSummary(store.RunSummary{
			Status: result.Status, Reason: result.Reason, Steps: result.Steps, Updated: time.Unix(0, d.last),
		})
	}
	if err == nil {
		err = d.saveSessionAgain()
	}
	if err != nil {
		return nil, err
	}
	d.emitRunEvent(RunFinished, d.last, result)
	return result, d.sinkErr
}

func (d *driver) continueRun(ctx context.Context, journal store.Journal) (*Result, error) {
	d.journal, d.savedAt = journal, d.now()
	if err := journal.SaveSummary(store.RunSummary{Status: machine.Running, Steps: d.state.Steps(), Updated: d.clock.Now()}); err != nil {
		return nil, err
	}
	switch {
	case d.state.Status == machine.Paused:
		d.countPauseEvents()
	case d.state.HasEnded():
		d.seq++
	default:
		d.seq += crashGap
	}
	event := &machine.Event{Kind: machine.Resumed, At: d.now(), Run: d.opts.runInfo(d.opts.RunID), Emitted: d.seq}
	d.attachWatcher()
	d.emitRunEvent(RunResumed, event.At, nil)
	return d.finishRun(ctx, event)
}

func requestEvent(r store.Request, at int64) machine.Event {
	if why, cancels := r.CancelReason(); cancels {
		return machine.Event{Kind: machine.CancelAsked, At: at, Reason: why}
	}
	return machine.Event{Kind: machine.PauseAsked, At: at}
}

// forwardRequests forwards other processes' requests and answers to the driver until the run ends.
func (d *driver) forwardRequests() {
	if d.journal == nil {
		return
	}
	asked, offers := d.journal.Requests(), d.journal.Offers()
	if asked == nil && offers == nil {
		return
	}
	go func() {
		for {
			select {
			case offer := <-offers:
				d.sendOffer(offer)
			case request := <-asked:
				d.sendEvent(requestEvent(request, d.now()))
			case <-d.done:
				return
			}
		}
	}()
}

func (d *driver) sendOffer(offer store.Offer) {
	d.sendMessage(func() *machine.Event {
		d.offers = append(d.offers, offer)
		return nil
	})
}

// Cancel cancels a run that has no driver, and runs its finally nodes in this process. A run that has
// ended does not change. The error is store.ErrNoRun, or a *store.DrivenError while a driver has the
// run.
func (r *Runner) Cancel(runID string) (*Result, error) {
	return r.withJournal(context.Background(), runID, 0, func(journal store.Journal) (*Result, error) { return r.cancelRun(runID, journal) })
}

func (r *Runner) cancelRun(runID string, held store.Journal) (*Result, error) {
	d, err := r.loadDriver(runID, Options{})
	if err != nil {
		return nil, err
	}
	if d.state.HasEnded() {
		return d.recordedResult(), d.saveSession(d.last)
	}
	d.journal = held
	if err := d.cancelUndriven(); err != nil {
		return nil, err
	}
	if d.state.IsInFinally() {
		if d.secretsErr != nil {
			return nil, d.secretsErr
		}
		return d.continueRun(context.Background(), held)
	}
	result := d.recordedResult()
	err = d.closeJournal(result)
	d.notifyEnd(result)
	return result, err
}

// cancelUndriven cancels a run that has no driver, so none of its tasks runs.
func (d *driver) cancelUndriven() error {
	at := d.now()
	d.countPauseEvents()
	event := machine.Event{Kind: machine.CancelAsked, At: at}
	for left := -1; ; {
		if _, _, err := d.storeThenApply(&event); err != nil {
			return err
		}
		d.emitNotes(at)
		d.last = at
		stopping := d.state.Stopping // includes tasks that the driver had cancelled
		if len(stopping) == 0 || len(stopping) == left || d.state.HasEnded() {
			break
		}
		left = len(stopping)
		event = machine.Event{
			Kind: machine.TaskEnded, At: at, Task: stopping[0].Task,
			Failure: &Failure{Kind: "cancelled", Message: "its process was gone when the run was cancelled"},
		}
	}
	if !d.state.HasEnded() && !d.state.IsInFinally() {
		return fmt.Errorf("run %s can't be cancelled: it waits for what nobody does any more", d.opts.RunID)
	}
	return nil
}

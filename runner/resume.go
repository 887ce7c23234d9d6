// Resuming runs.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// lostNumbers is the gap after a crash in event numbers, since the last ones are unknown.
const lostNumbers = 1_000_000

// Resume continues a run that paused, crashed or ended without completing, in its own graph.
// Unfinished tasks run again as the same attempt. A completed run executes nothing. Errors are
// those of Run, store.ErrNoRun, and *store.DrivenError while another driver has the run.
func (r *Runner) Resume(ctx context.Context, runID string, opts Options) (*Result, error) {
	return r.withJournal(ctx, runID, openTries, func(journal store.Journal) (*Result, error) { return r.resumeRun(ctx, runID, opts, journal) })
}

// openTries bounds the attempts to open a journal, every 20 ms: an answering process closes it soon.
const openTries = 50

// withJournal opens the journal of a run for do.
func (r *Runner) withJournal(ctx context.Context, runID string, tries int, do func(journal store.Journal) (*Result, error)) (*Result, error) {
	if r.cfg.Store == nil {
		return nil, noStore(runID)
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
	return result, errors.Join(err, journal.Close()) // closing twice is fine
}

func noStore(runID string) error {
	return fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
}

func (r *Runner) resumeRun(ctx context.Context, runID string, opts Options, journal store.Journal) (*Result, error) {
	if err := endLeft(r.cfg.Store, runID); err != nil {
		return nil, err
	}
	d, err := r.driverOf(runID, opts)
	if err != nil {
		return nil, err
	}
	if d.state.Status == machine.Completed {
		if err := d.refuseAnswers(); err != nil {
			return nil, err
		}
		return d.completedResult(journal)
	}
	if err := errors.Join(d.checkAnswers(), d.unread); err != nil {
		return nil, err
	}
	if err := d.awaitSlot(ctx, journal); err != nil {
		result := d.recordedResult()
		d.emitRunEvent(RunFinished, d.now(), result)
		return result, errors.Join(err, d.sinkErr)
	}
	return d.continueRun(ctx, journal)
}

// completedResult returns the result of a completed run. It stores the summary and the session if
// the driver was killed before it could.
func (d *driver) completedResult(journal store.Journal) (*Result, error) {
	result := d.recordedResult()
	lines, err := d.flow.runner.cfg.Store.List(store.RunFilter{ID: d.opts.RunID})
	if err == nil && len(lines) == 1 && lines[0].Status != machine.Completed {
		err = journal.Note(store.RunSummary{
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
	d.journal, d.noted = journal, d.now()
	if err := journal.Note(store.RunSummary{Status: machine.Running, Steps: d.state.Steps(), Updated: d.clock.Now()}); err != nil {
		return nil, err
	}
	switch {
	case d.state.Status == machine.Paused:
		d.countPauseEvents()
	case d.state.Ended():
		d.seq++
	default:
		d.seq += lostNumbers
	}
	event := &machine.Event{Kind: machine.Resumed, At: d.now(), Run: d.opts.info(d.opts.RunID), Told: d.seq}
	d.attachWatcher()
	d.emitRunEvent(RunResumed, event.At, nil)
	return d.finishRun(ctx, event)
}

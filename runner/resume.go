// Runs taken up again: their journals are replayed, then they go on.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/rundir"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Resume goes on with a run that is paused, or that a crash, a cancellation, a
// failure or a limit has ended, from the graph that it was started with. What
// had finished is not run again; what had begun and not finished is, as the
// same attempt. A completed run executes nothing. Errors are those of Run, and
// store.ErrNoRun, and *store.LeasedError while another driver has the run.
func (r *Runner) Resume(ctx context.Context, runID string, opts Options) (*Result, error) {
	if r.cfg.Store == nil {
		return nil, fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
	}
	// The lease comes first: whoever has it is the only one to add to what is
	// read now.
	journal, err := r.openSoon(ctx, runID)
	if err != nil {
		return nil, err
	}
	if err := rundir.EndLeft(r.cfg.Store, runID); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	d, back, err := r.reopened(runID, opts)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	if d.state.Status == machine.Completed {
		if err := d.refuseAll(); err != nil {
			return nil, errors.Join(err, journal.Close())
		}
		result, err := d.overAlready(journal)
		return result, errors.Join(err, journal.Close())
	}
	if d.unread != nil {
		return nil, errors.Join(d.unread, journal.Close())
	}
	if err := d.reenter(ctx, journal); err != nil {
		result, more := d.asItWas()
		return result, errors.Join(err, more, journal.Close())
	}
	return d.goOn(ctx, journal, back)
}

// asItWas is the result of a run that found no place in its group and stays what it
// was: d is what would have gone on.
func (d *driver) asItWas() (*Result, error) {
	_, was, err := d.flow.runner.replayedToEnd(d.opts.RunID, Options{History: d.opts.History})
	if err != nil {
		return nil, err
	}
	result, err := was.recorded()
	if err != nil {
		return nil, err
	}
	d.tell(RunFinished, d.now(), result)
	return result, d.sinkErr
}

// overAlready is the result of a run that has completed. What its driver did not
// get to say of the end, because it vanished there, is said now.
func (d *driver) overAlready(journal store.Journal) (*Result, error) {
	result, err := d.recorded()
	if err != nil {
		return nil, err
	}
	lines, err := d.flow.runner.cfg.Store.List(store.RunFilter{ID: d.opts.RunID})
	if err == nil && len(lines) == 1 && lines[0].Status != machine.Completed {
		err = journal.Note(store.RunSummary{
			Status: result.Status, Reason: result.Reason, Steps: result.Steps, Updated: time.Unix(0, d.last),
		})
	}
	if err == nil {
		err = d.leaveAgain()
	}
	if err != nil {
		return nil, err
	}
	d.tell(RunFinished, d.last, result)
	return result, d.sinkErr
}

// goOn drives a run on from where it stands.
func (d *driver) goOn(ctx context.Context, journal store.Journal, back *journal.Comeback) (*Result, error) {
	d.journal, d.noted = journal, d.now()
	if err := journal.Note(store.RunSummary{Status: machine.Running, Steps: d.state.Steps, Updated: d.clock.Now()}); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	event := back.Event(d.now(), d.opts.info(d.opts.RunID))
	d.goOnFromNumber(back.Told)
	event.Told = d.lastNumber()
	d.tell(RunResumed, d.now(), nil)
	return d.finishRun(ctx, event)
}

// reopened is a run's driver in the state that the run is taken up in.
func (r *Runner) reopened(runID string, opts Options) (*driver, *journal.Comeback, error) {
	rec, d, err := r.replayedToEnd(runID, opts)
	if err != nil || d.state.Status == machine.Completed {
		return d, nil, err
	}
	told, err := rec.toldBefore()
	if err != nil {
		return nil, nil, err
	}
	back, err := rec.Rewind(d.state)
	if err != nil {
		return nil, nil, err
	}
	back.Told = told
	if len(back.Undo) > 0 {
		if d, err = rec.replayed(opts, rec.Events); err != nil {
			return nil, nil, err
		}
	}
	return d, back, d.checkAnswers()
}

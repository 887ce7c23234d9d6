// Runs taken up again, forked, shown: all of them replay a journal.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/rundir"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
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

// ForkOptions say where a fork begins and what it changes.
type ForkOptions struct {
	Options
	// At is the step after which the fork begins; 0: before the first. Inside a
	// parallel superstep it is moved to its end: Fork says where.
	At int
	// Set holds state keys to change, as plain data.
	Set map[string]any
}

// Fork starts a new run from the state that a run had after one of its steps,
// edited or not, and runs it. The run itself is untouched. at is the step that
// the fork begins after.
func (r *Runner) Fork(ctx context.Context, runID string, opts ForkOptions) (result *Result, at int, err error) {
	rec, err := r.loadAt(runID, opts.At)
	if err != nil {
		return nil, 0, err
	}
	set, wrong := input.Check(rec.flow.tree.Graph, opts.Set, nil)
	if len(wrong) > 0 {
		return nil, 0, inputError(wrong)
	}
	last, at, err := rec.cut(opts.At)
	if err != nil {
		return nil, 0, err
	}
	if last == nil {
		return nil, 0, &InputError{Problems: []string{
			fmt.Sprintf("step %d: run %q has taken %d steps", opts.At, runID, at),
		}}
	}
	told, err := rec.toldToNobody(rec.Total)
	if err != nil {
		return nil, 0, err
	}
	if opts.RunID == "" {
		opts.RunID = store.NewRunID(r.cfg.Clock.Now())
	}
	rec.run.ID, rec.run.Parent, rec.run.ParentStep = opts.RunID, runID, at
	rec.run.Session = "" // what it leaves is none of the session's business
	rec.run.Labels, rec.run.Started = opts.Labels, r.cfg.Clock.Now()
	d, err := rec.replayed(opts.Options, rec.Events)
	if err != nil {
		return nil, 0, err
	}
	if d.unread != nil {
		return nil, 0, d.unread
	}
	last.Edit, last.Undo = set, nil
	last.At = d.now()
	if last.Kind == machine.RunBegan {
		info := *last.Run
		rec.become(&info)
		last.Run = &info
		d.started = time.Unix(0, d.now())
		result, err = d.begin(ctx, rec.run, last)
		return result, at, err
	}
	info := opts.info(opts.RunID)
	rec.become(info)
	d.goOnFromNumber(told.lastNumber())
	first := []machine.Event{{Kind: machine.Resumed, At: last.At, Run: info, Undo: rec.UndoneLater(), Told: d.lastNumber()}, *last}
	if err := d.createFork(rec, runID, first); err != nil {
		return nil, 0, err
	}
	result, err = d.forkOn(ctx, first)
	return result, at, err
}

// become gives a fork its name, and a folder of its own where expressions see one.
func (rec *record) become(info *machine.RunInfo) {
	info.ID = rec.run.ID
	if rec.flow.tree.Plan.SeesRunDir() {
		info.Dir = rundir.New(rec.flow.runner.cfg.Store, info.ID).Where()
	}
}

// createFork makes the journal of a fork: the events that were read of the other
// run and those before them, as they are, and those that it begins with.
func (d *driver) createFork(rec *record, from string, first []machine.Event) error {
	for i := range first {
		d.vault.Event(&first[i])
	}
	journal, err := d.flow.runner.cfg.Store.Fork(rec.run, from, rec.Total, first...)
	switch {
	case errors.Is(err, store.ErrRunExists):
		return err
	case err != nil:
		return d.journalFailed(err)
	}
	d.journal, d.durable, d.noted = journal, len(first), d.now()
	d.saved.events, d.saved.stale = rec.Total+len(first), len(first[0].Undo) > 0
	return nil
}

// forkOn asks again for what was under way, then applies the event that the
// fork begins with. Both are in its journal already.
func (d *driver) forkOn(ctx context.Context, first []machine.Event) (*Result, error) {
	if err := d.reenter(ctx, d.journal); err != nil {
		if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
			result, err := d.turnedAway(busy)
			return result, d.never(err)
		}
		return nil, d.never(err)
	}
	d.tell(RunResumed, d.now(), nil)
	commands, _, err := d.open(&first[0])
	if err != nil {
		return nil, errors.Join(err, d.closeJournal(nil))
	}
	d.carryOutAll(ctx, commands)
	return d.finishRun(ctx, &first[1])
}

// never forgets a fork that did not begin; err says why.
func (d *driver) never(err error) error {
	if closed := d.closeJournal(nil); closed != nil {
		return errors.Join(err, closed)
	}
	if left := d.flow.runner.cfg.Store.Delete(d.opts.RunID); left != nil && !errors.Is(left, store.ErrNoRun) {
		return errors.Join(err, left)
	}
	return err
}

// cut finds the event that closed the superstep in which a step was taken, and how
// many steps were taken by then; nil: the run has taken fewer. The record then ends
// before it.
func (rec *record) cut(step int) (last *machine.Event, steps int, err error) {
	d, err := rec.replayed(Options{}, nil)
	if err != nil {
		return nil, 0, err
	}
	last, err = rec.Cut(func(e *machine.Event) (bool, error) {
		if err := d.replay(e); err != nil {
			return false, err
		}
		steps = d.steps()
		return steps >= step, nil
	})
	return last, steps, err
}

// recentEvents is how many events of the journal Show tells at least, if there
// are as many.
const recentEvents = 400

// Show returns a run as it stands, also while it is driven elsewhere. It reads
// the latest part of the journal only; the sink of opts is told of that part.
// With History it reads the whole.
func (r *Runner) Show(runID string, opts Options) (*Result, error) {
	if opts.History {
		return r.Replay(runID, -1, opts)
	}
	rec, err := r.loadFrom(runID, -1)
	if err == nil && opts.Sink != nil && rec.From.Events > 0 && len(rec.Events) < recentEvents {
		rec, err = r.loadFrom(runID, max(0, rec.Total-recentEvents))
	}
	if err != nil {
		return nil, err
	}
	return rec.walk(-1, opts)
}

// Replay walks a recorded run again without executing anything, and tells the
// sink of opts what happened, with the values that conditions read. It stops after
// the step at: 0 is before the first, and negative goes to where the run stands.
func (r *Runner) Replay(runID string, at int, opts Options) (*Result, error) {
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, err
	}
	return rec.walk(at, opts)
}

// walk replays the events of a record and tells what happened.
func (rec *record) walk(at int, opts Options) (*Result, error) {
	d, err := rec.reader(opts)
	if err != nil {
		return nil, err
	}
	if at >= 0 && d.opts.Sink != nil {
		d.opts.Sink = &untilSink{next: d.opts.Sink, driver: d, at: at}
	}
	err = rec.Each(func(e *machine.Event) (bool, error) {
		err := d.replayEvent(e)
		return at < 0 || d.steps() < at, err
	})
	if err != nil {
		return nil, err
	}
	result, err := d.retold()
	if err == nil && at < 0 && result.Status == machine.Running {
		if err = d.flow.runner.stands(result); err == nil {
			result.Running, err = d.running()
		}
		if result.Status == machine.Running { // it is: time goes on
			result.Duration = view.Milliseconds(time.Duration(max(0, d.now()-d.started.UnixNano())))
		}
	}
	return result, err
}

// recorded is the result of a run that is only read: it took no longer than
// until its last event.
func (d *driver) recorded() (*Result, error) {
	result, err := d.wholeResult()
	if err == nil {
		result.Duration = view.Milliseconds(time.Duration(max(0, d.last-d.started.UnixNano())))
	}
	return result, err
}

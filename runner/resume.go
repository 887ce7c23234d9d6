// Runs taken up again, forked, shown: all of them replay a journal.

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Resume goes on with a run that is paused, or that a crash, a cancellation, a
// failure or a limit has ended, from the graph that it was started with. What
// had finished is not run again; what had begun and not finished is, as the
// same attempt. A completed run executes nothing. Errors are those of Run, and
// ErrNoRun, and *LeasedError while another driver has the run.
func (r *Runner) Resume(ctx context.Context, runID string, opts Options) (*Result, error) {
	if r.cfg.Store == nil {
		return nil, fmt.Errorf("run %q: %w: there is no store", runID, ErrNoRun)
	}
	// The lease comes first: whoever has it is the only one to add to what is
	// read now.
	journal, err := r.openSoon(ctx, runID)
	if err != nil {
		return nil, err
	}
	if err := r.endLeft(runID); err != nil {
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
		return nil, errors.Join(err, journal.Close())
	}
	return d.goOn(ctx, journal, back)
}

// overAlready is the result of a run that has completed. What its driver did not
// get to say of the end, because it vanished there, is said now.
func (d *driver) overAlready(journal Journal) (*Result, error) {
	result, err := d.recorded()
	if err != nil {
		return nil, err
	}
	lines, err := d.flow.runner.cfg.Store.List(RunFilter{ID: d.opts.RunID})
	if err == nil && len(lines) == 1 && lines[0].Status != machine.Completed {
		err = journal.Note(RunSummary{
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
func (d *driver) goOn(ctx context.Context, journal Journal, back *comeback) (*Result, error) {
	d.journal, d.noted = journal, d.now()
	if err := journal.Note(RunSummary{Status: machine.Running, Steps: d.state.Steps, Updated: d.clock.Now()}); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	event := back.event(d.now(), d.opts.info(d.opts.RunID))
	d.tell(RunResumed, d.now(), nil)
	return d.finishRun(ctx, event)
}

// reopened is a run's driver in the state that the run is taken up in.
func (r *Runner) reopened(runID string, opts Options) (*driver, *comeback, error) {
	rec, d, err := r.replayedToEnd(runID, opts)
	if err != nil || d.state.Status == machine.Completed {
		return d, nil, err
	}
	back, err := rec.rewind(d.state)
	if err != nil {
		return nil, nil, err
	}
	if len(back.undo) > 0 {
		if d, err = rec.replayed(opts, rec.events); err != nil {
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
	rec, err := r.load(runID)
	if err != nil {
		return nil, 0, err
	}
	set, err := checkKeys(rec.flow.graph, opts.Set, nil)
	if err != nil {
		return nil, 0, err
	}
	cut, at := rec.cut(opts.At)
	if cut < 0 {
		return nil, 0, &InputError{Problems: []string{
			fmt.Sprintf("step %d: run %q has taken %d steps", opts.At, runID, at),
		}}
	}
	if opts.RunID == "" {
		opts.RunID = newRunID(r.cfg.Clock.Now())
	}
	forked := *rec
	forked.run.ID, forked.run.Parent, forked.run.ParentStep = opts.RunID, runID, at
	forked.run.Session = "" // what it leaves is none of the session's business
	forked.run.Labels, forked.run.Started = opts.Labels, r.cfg.Clock.Now()
	events := slices.Clone(rec.events[:cut+1])
	for i := range events {
		events[i].Undo = nil // what they took back is not among them, and places have changed
	}
	events, last := events[:cut], events[cut]
	last.Edit = set
	if last.Kind == machine.RunBegan {
		info := *last.Run
		info.ID = opts.RunID
		forked.moveFolder(&info)
		last.Run = &info
	} else {
		info := *events[0].Run
		info.ID = opts.RunID
		forked.moveFolder(&info)
		events[0].Run = &info
	}
	d, err := forked.replayed(opts.Options, events)
	if err != nil {
		return nil, 0, err
	}
	if d.unread != nil {
		return nil, 0, d.unread
	}
	last.At = d.now()
	if last.Kind == machine.RunBegan {
		d.started = time.Unix(0, d.now())
		result, err = d.begin(ctx, forked.run, &last)
		return result, at, err
	}
	first := []machine.Event{{Kind: machine.Resumed, At: last.At, Run: opts.info(opts.RunID)}, last}
	if err := d.create(forked.run, events, first); err != nil {
		return nil, 0, err
	}
	result, err = d.forkOn(ctx, first)
	return result, at, err
}

// forkOn asks again for what was under way, then applies the event that the
// fork begins with. Both are in its journal already.
func (d *driver) forkOn(ctx context.Context, first []machine.Event) (*Result, error) {
	if err := d.reenter(ctx, d.journal); err != nil {
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
	if left := d.flow.runner.cfg.Store.Delete(d.opts.RunID); left != nil && !errors.Is(left, ErrNoRun) {
		return errors.Join(err, left)
	}
	return err
}

// cut finds the event that closed the superstep in which a step was taken: its
// index, and the number of steps taken by then. The index is -1 when the run
// has taken fewer steps.
func (rec *record) cut(step int) (index, steps int) {
	if step == 0 {
		return 0, 0
	}
	s := rec.flow.plan.NewState()
	for i := range rec.events {
		if _, err := rec.flow.plan.Apply(s, rec.events[i]); err != nil {
			break
		}
		steps += len(s.Ran)
		if steps >= step {
			return i, steps
		}
	}
	return -1, steps
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
	if err == nil && opts.Sink != nil && rec.from.events > 0 && len(rec.events) < recentEvents {
		rec, err = r.loadFrom(runID, max(0, rec.total-recentEvents))
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
	rec, err := r.load(runID)
	if err != nil {
		return nil, err
	}
	opts.History = true
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
	for i := range rec.events {
		if err := d.retell(&rec.events[i]); err != nil {
			return nil, err
		}
		if at >= 0 && len(d.path) >= at {
			break
		}
	}
	result, err := d.retold()
	if err == nil && at < 0 && result.Status == machine.Running {
		if err = d.flow.runner.stands(result); err == nil {
			result.Running, err = d.running()
		}
	}
	return result, err
}

// recorded is the result of a run that is only read: it took no longer than
// until its last event.
func (d *driver) recorded() (*Result, error) {
	result, err := d.wholeResult()
	if err == nil {
		result.Duration = Milliseconds(time.Duration(max(0, d.last-d.started.UnixNano())))
	}
	return result, err
}

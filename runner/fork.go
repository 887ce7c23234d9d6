// Forks: new runs from the past of others.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/internal/rundir"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

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
	if err := opts.checkNames(); err != nil {
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

// Forks: new runs that continue another run from one of its steps.

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// ForkOptions are the settings of a fork.
type ForkOptions struct {
	Options
	// At is the step after which the fork begins. 0 means before the first step.
	At int
	// Set holds new values of state keys, as plain data.
	Set map[string]any
}

// Fork starts a new run with another run's state after one of its steps, edited by Set. Branches that
// were running repeat their unfinished steps. The other run does not change.
func (r *Runner) Fork(ctx context.Context, runID string, opts ForkOptions) (*Result, error) {
	d, rec, first, err := r.planFork(runID, &opts)
	if err != nil {
		return nil, err
	}
	if opts.At == 0 {
		return d.beginRun(ctx, rec.run, &first[0])
	}
	err = d.openNewJournal(func(first []machine.Event) (store.Journal, error) {
		return r.cfg.Store.Fork(rec.run, runID, rec.total, first...)
	}, first...)
	if err != nil {
		return nil, err
	}
	d.durable = 1
	if err := d.awaitSlot(ctx, d.journal); err != nil {
		if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
			return d.rejectBusy(busy)
		}
		return nil, d.discardFork(err)
	}
	d.emitRunEvent(RunResumed, d.now(), nil)
	return d.finishRun(ctx, &first[1])
}

// planFork returns the driver of a fork, the record of the other run, and the first events.
func (r *Runner) planFork(runID string, opts *ForkOptions) (d *driver, rec *record, first []machine.Event, err error) {
	if rec, err = r.loadRecordAt(runID, opts.At); err != nil {
		return nil, nil, nil, err
	}
	set, wrong := input.Check(rec.flow.tree.Graph, opts.Set, nil)
	if wrong = append(wrong, rec.flow.checkTargets(&opts.Options)...); len(wrong) > 0 {
		return nil, nil, nil, inputError(wrong)
	}
	if err := opts.checkNames(); err != nil {
		return nil, nil, nil, err
	}
	opts.RunID = cmp.Or(opts.RunID, store.NewRunID(r.cfg.Clock.Now()))
	rec.run.ID, rec.run.Parent, rec.run.ParentStep = opts.RunID, runID, opts.At
	rec.run.Session = ""
	rec.run.Labels, rec.run.Started = opts.Labels, r.cfg.Clock.Now()
	if opts.At == 0 {
		d, first, err = rec.forkFromStart(opts.Options, set)
	} else {
		d, first, err = rec.forkAt(opts, set)
	}
	if err == nil {
		err = d.secretsErr
	}
	return d, rec, first, err
}

// forkAt replays the other run up to the step after which the fork begins.
func (rec *record) forkAt(opts *ForkOptions, set map[string]any) (*driver, []machine.Event, error) {
	quiet := opts.Options
	quiet.Sink = nil
	d, err := rec.newDriver(quiet)
	if err != nil {
		return nil, nil, err
	}
	last, err := d.replayTo(rec, opts.At, set)
	if err != nil {
		return nil, nil, err
	}
	if last == nil {
		return nil, nil, &InputError{Problems: []string{fmt.Sprintf("step %d: run %q has taken %d steps", opts.At, rec.run.Parent, d.state.RootSteps())}}
	}
	d.opts.Sink = opts.Sink
	d.updateWatched()
	info := opts.runInfo(opts.RunID)
	rec.setForkInfo(info)
	last.StopAt, last.Edit = opts.At, set
	return d, []machine.Event{*last, {Kind: machine.Resumed, At: d.now(), Run: info, Edit: set, Emitted: d.seq}}, nil
}

// replayTo replays a record to the end of a step and applies the edit there. It returns the event that
// ends the step, or nil if the record has fewer steps.
func (d *driver) replayTo(rec *record, step int, edit map[string]any) (last *machine.Event, err error) {
	err = rec.visitEvents(func(e *machine.Event) (bool, error) {
		d.state.StopAt, d.state.Edit = step, edit
		err := d.replayEvent(e)
		d.state.StopAt, d.state.Edit = 0, nil
		if d.state.RootSteps() >= step {
			last = e
			rec.total--
		}
		return last == nil, err
	})
	return last, err
}

// forkFromStart prepares a fork that shares only its input with the other run.
func (rec *record) forkFromStart(opts Options, set map[string]any) (*driver, []machine.Event, error) {
	events, err := rec.readEvents()
	if err != nil || len(events) == 0 {
		return nil, nil, errors.Join(err, store.ErrNoRun)
	}
	d, err := rec.newDriver(opts)
	if err != nil {
		return nil, nil, err
	}
	info := *events[0].Run
	rec.setForkInfo(&info)
	return d, []machine.Event{{Kind: machine.RunBegan, At: d.now(), Run: &info, Input: events[0].Input, Edit: set}}, nil
}

// setForkInfo sets the id of a fork, and its own folder if expressions read run.dir.
func (rec *record) setForkInfo(info *machine.RunInfo) {
	info.ID = rec.run.ID
	if rec.flow.tree.Plan.ReadsRunDir() {
		info.Dir = newFolder(rec.flow.runner.cfg.Store, info.ID).Path()
	}
}

// discardFork deletes a fork that err kept from starting.
func (d *driver) discardFork(err error) error {
	if closed := d.closeJournal(nil); closed != nil {
		return errors.Join(err, closed)
	}
	if left := d.flow.runner.cfg.Store.Delete(d.opts.RunID); left != nil && !errors.Is(left, store.ErrNoRun) {
		return errors.Join(err, left)
	}
	return err
}

// Reading runs: their journals, applied once more.

package runner

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// record is a run whose journal is read.
type record struct {
	journal.Reading
	run  store.RunRecord
	flow *Flow
	// live has what was told live, nil: nothing has; heard is what is to be told.
	live  LiveStore
	heard []LiveEvent
}

// readBy makes a record one of another flow.
func (rec *record) readBy(flow *Flow) { rec.flow, rec.Plan = flow, flow.tree.Plan }

// find reads what a run is, and compiles the graph that it was started with.
func (r *Runner) find(runID string) (*record, error) {
	if r.cfg.Store == nil {
		return nil, fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
	}
	run, err := r.cfg.Store.Run(runID)
	if err != nil {
		return nil, err
	}
	g, found := spec.Parse(run.File, run.Source, spec.Options{Kinds: r.kinds, Load: run.Load})
	if found.HasErrors() {
		return nil, &InvalidError{Diagnostics: found.Sort()}
	}
	flow, err := r.prepare(g, run.Files)
	if err != nil {
		return nil, err
	}
	return &record{Reading: journal.Reading{RunID: runID, Store: r.cfg.Store, Plan: flow.tree.Plan}, run: run, flow: flow}, nil
}

// findAt reads a run from its latest snapshot in which fewer than so many steps have
// ended; 0: from its beginning.
func (r *Runner) findAt(runID string, step int) (*record, error) {
	rec, err := r.find(runID)
	if err == nil {
		err = rec.Before(step)
	}
	return rec, err
}

// findLatest reads a run from its latest snapshot, or with all from its beginning.
func (r *Runner) findLatest(runID string, all bool) (*record, error) {
	rec, err := r.find(runID)
	if err == nil && !all {
		err = rec.Latest(-1)
	}
	return rec, err
}

// restored returns a driver in the state that a record begins with.
func (rec *record) restored(opts Options) (*driver, error) {
	opts.RunID, opts.Session = rec.run.ID, rec.run.Session
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(rec.flow.tree.Graph.File.Name)
	}
	known, err := rec.flow.secretsOf(&opts)
	if err != nil {
		known = rec.flow.placeholders()
	}
	d := newDriver(rec.flow, opts, known)
	d.unread = err
	if err := d.startFrom(&rec.Reading); err != nil {
		return nil, err
	}
	if rec.run.Parent != "" {
		d.forked, d.started = rec.run.Started, rec.run.Started
	}
	d.state.SetSecrets(d.secrets)
	return d, nil
}

// replayed returns a driver in the state that all events lead to. They are told to
// nobody, and counted.
func (rec *record) replayed(opts Options) (*driver, error) {
	sink, warn := opts.Sink, opts.Warn
	opts.Sink, opts.Warn = nil, nil
	d, err := rec.restored(opts)
	if err == nil {
		err = rec.Each(func(e *machine.Event) (bool, error) { return true, d.replay(e) })
	}
	if err == nil && rec.Total == 0 {
		err = fmt.Errorf("run %q was killed before its first event: nothing of it goes on; delete it and start it again", rec.RunID)
	}
	if err != nil {
		return nil, err
	}
	d.opts.Sink, d.opts.Warn = sink, warn
	d.watch()
	return d, nil
}

// replay applies a recorded event, carries nothing out, and tells what happened.
func (d *driver) replay(event *machine.Event) error {
	held := d.waitsLive()
	if event.Kind == machine.Resumed || event.Kind == machine.CancelAsked || event.Hold {
		d.tellPause()
	}
	d.seq = max(d.seq, event.Told)
	if event.Kind == machine.Resumed && !held {
		d.tell(RunResumed, event.At, nil)
	}
	if event.Kind == machine.RunBegan {
		limit := 0
		if d.forked.IsZero() {
			d.started = time.Unix(0, event.At)
		}
		if event.Run != nil {
			d.mask.Learn(d.plan.Graph, event.Run.Session)
			limit = event.Run.MaxSteps
		}
		d.mask.Learn(d.plan.Graph, event.Input)
		d.announce(event.Input, limit)
	}
	d.last = max(d.last, event.At)
	d.time.NotBefore(event.At)
	place, _ := d.state.Place(event.Task)
	d.places[event.Task] = place
	_, err := d.plan.Apply(d.state, *event)
	d.learnConfided()
	switch event.Kind {
	case machine.TaskEnded:
		d.tellSpoken(event)
	case machine.TaskNoted:
		d.tellUsage(event)
		d.tellCalled(event)
	}
	delete(d.places, event.Task)
	d.publish(event.At)
	if d.state.Status != machine.Paused {
		d.pauseTold = false
	}
	if err != nil {
		return err
	}
	return d.sinkErr
}

// tellPause tells once that the run pauses, if it does.
func (d *driver) tellPause() {
	if d.state.Status == machine.Paused && !d.pauseTold && !d.waitsLive() {
		d.pauseTold = true
		d.tell(RunPaused, d.last, d.recorded())
	}
}

// countPause counts what the driver of a paused run told when it left: that it pauses, and
// the result.
func (d *driver) countPause() {
	if d.state.Status == machine.Paused && !d.pauseTold {
		d.seq += 2
		d.pauseTold = true
	}
}

// waitsLive reports whether the run that is attended waits for a place in its group: its
// driver tells for whom, and not that it pauses.
func (d *driver) waitsLive() bool {
	return d.attends && !d.pauseTold && d.state.Status == machine.Paused && d.state.Reason == "concurrency"
}

// recorded is the result of a run that is only read: it took no longer than until its last
// event.
func (d *driver) recorded() *Result {
	result := d.result()
	result.Duration = d.took(d.last)
	return result
}

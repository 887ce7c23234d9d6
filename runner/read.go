// Reading runs: their journals, applied once more.

package runner

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/mask"
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

// readNotes reads what is noted of the run of a subgraph; size is that of the events.
func (f *Flow) readNotes(log []any) (notes *journal.Reading, size int, err error) {
	return journal.ReadNotes(f.tree.Graph, f.tree.Plan, log)
}

// readBy makes a record one of another flow.
func (rec *record) readBy(flow *Flow) {
	rec.flow, rec.Graph, rec.Plan = flow, flow.tree.Graph, flow.tree.Plan
}

// load reads a run from its beginning.
func (r *Runner) load(runID string) (*record, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	return rec, rec.ReadAll()
}

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
	return &record{
		Reading: journal.Reading{RunID: runID, Store: r.cfg.Store, Graph: flow.tree.Graph, Plan: flow.tree.Plan}, run: run, flow: flow,
	}, nil
}

// replayed is a driver with its state, before it drives.
func (rec *record) replayed(opts Options, events []machine.Event) (*driver, error) {
	opts.RunID, opts.Session = rec.run.ID, rec.run.Session
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(rec.flow.tree.Graph.File.Name)
	}
	secrets, err := rec.flow.runner.secretsOf(&opts, rec.flow.tree.Graph)
	if err != nil {
		secrets = mask.Placeholders(rec.flow.tree.Graph)
	}
	d := newDriver(rec.flow, opts, secrets, nil)
	d.unread = err
	if err := d.startFrom(&rec.Reading); err != nil {
		return nil, err
	}
	if rec.run.Parent != "" {
		d.forked, d.started = rec.run.Started, rec.run.Started
	}
	d.state.SetSecrets(d.secrets)
	for i := range events {
		if err := d.replay(&events[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// learnStart hides what a run had to keep secret from its beginning on.
func (d *driver) learnStart(began *machine.Event) {
	if began.Run != nil {
		d.mask.Learn(began.Run.Session)
	}
	d.mask.Learn(began.Input)
}

// replay applies a recorded event and carries nothing out.
func (d *driver) replay(event *machine.Event) error {
	if event.Kind == machine.RunBegan {
		if d.forked.IsZero() {
			d.started = time.Unix(0, event.At)
		}
		d.learnStart(event)
	}
	d.learnInside(event)
	d.last = max(d.last, event.At)
	d.time.NotBefore(event.At)
	_, err := d.plan.Apply(d.state, *event)
	d.path = append(d.path, d.state.Ran...)
	d.learnConfided()
	if d.opts.History {
		d.rememberAll(event.At)
	}
	return err
}

// loadFrom reads a run from its latest snapshot of at most so many events (any
// number when negative) that can be used.
func (r *Runner) loadFrom(runID string, most int) (*record, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	return rec, rec.ReadFrom(most)
}

// loadAt reads a run from its latest snapshot with fewer than so many steps in its
// path. Its events are read by Each.
func (r *Runner) loadAt(runID string, step int) (*record, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	return rec, rec.Open(step)
}

// replayedToEnd is a run's driver in the state that all its events lead to. The
// record goes back far enough to take back how the run ended.
func (r *Runner) replayedToEnd(runID string, opts Options) (*record, *driver, error) {
	most := -1
	if opts.History {
		most = 0
	}
	for {
		rec, err := r.loadFrom(runID, most)
		if err != nil {
			return nil, nil, err
		}
		d, err := rec.replayed(opts, rec.Events)
		if err != nil || !d.state.Ending() || d.state.InFinally() || d.state.Status == machine.Completed {
			return rec, d, err
		}
		began, err := rec.Begin()
		if err != nil || !began.Ending() {
			return rec, d, err
		}
		most = rec.From.Events - 1
	}
}

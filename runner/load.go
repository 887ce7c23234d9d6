// Reading runs: their journals, applied once more.

package runner

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// record is a run as its store has it, with the events that count.
type record struct {
	run  store.RunRecord
	flow *Flow
	// from is the snapshot that the events go on from; the zero one is the
	// beginning of the run.
	from snapshot
	// stale says that there is a later snapshot, of events that count no more.
	stale bool
	// events are those that count, at their places in the journal.
	events []machine.Event
	places []int
	total  int // events in the journal
	// paged says that the events are read when they are needed: total is then how
	// many have been. retractions are those of the whole journal, undone what they
	// take back.
	paged       bool
	retractions []store.Retraction
	undone      map[int]bool
	// nested says that the record is of a subgraph.
	nested bool
	// live has what was told live, nil: nothing has; heard is what is to be told.
	live  LiveStore
	heard []LiveEvent
}

// load reads a run from its beginning.
func (r *Runner) load(runID string) (*record, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	events, err := r.cfg.Store.Events(runID)
	if err != nil {
		return nil, err
	}
	rec.take(events)
	return rec, nil
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
	return &record{run: run, flow: flow}, nil
}

// take keeps the events after from that count.
func (rec *record) take(events []machine.Event) {
	first := rec.from.events
	rec.events, rec.places, rec.total = nil, nil, first+len(events)
	undone := map[int]bool{}
	for i := range events {
		for _, place := range events[i].Undo {
			undone[place] = true
		}
	}
	for i := range events {
		if !undone[first+i] {
			rec.events, rec.places = append(rec.events, events[i]), append(rec.places, first+i)
		}
	}
}

// replayed is a driver with its state, before it drives.
func (rec *record) replayed(opts Options, events []machine.Event) (*driver, error) {
	opts.RunID, opts.Session = rec.run.ID, rec.run.Session
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(rec.flow.graph.File.Name)
	}
	secrets, err := rec.flow.runner.secretsOf(&opts, rec.flow.graph)
	if err != nil {
		secrets = mask.Placeholders(rec.flow.graph)
	}
	d := newDriver(rec.flow, opts, secrets, nil)
	d.unread = err
	if err := d.startFrom(rec); err != nil {
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
	for {
		kept, err := r.cfg.Store.Snapshot(runID, most)
		if err != nil {
			return nil, err
		}
		rec.from = snapshot{}
		if kept.Events > 0 {
			if rec.from, err = readSnapshot(kept, rec.flow.plan); err != nil {
				most, rec.stale = kept.Events-1, true
				continue
			}
		}
		events, err := r.cfg.Store.EventsAfter(runID, rec.from.events)
		if err != nil {
			return nil, err
		}
		if first, ok := firstUndone(events); ok && first < rec.from.events {
			most, rec.stale = first, true
			continue
		}
		rec.take(events)
		return rec, nil
	}
}

// firstUndone is the first place in the journal that counts no more.
func firstUndone(events []machine.Event) (first int, ok bool) {
	for i := range events {
		for _, place := range events[i].Undo {
			if !ok || place < first {
				first, ok = place, true
			}
		}
	}
	return first, ok
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
		d, err := rec.replayed(opts, rec.events)
		if err != nil || !d.state.Ending() || d.state.InFinally() || d.state.Status == machine.Completed {
			return rec, d, err
		}
		began, err := rec.from.restore(rec.flow.plan)
		if err != nil || !began.Ending() {
			return rec, d, err
		}
		most = rec.from.events - 1
	}
}

// Reading runs by replaying their journals.

package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// batchBytes is how many bytes of events a reader loads at once.
const batchBytes = 128 << 10

// record reads the journal of a run.
type record struct {
	id    string // of the journal
	run   store.RunRecord
	flow  *Flow
	store store.Store
	// state and header are the snapshot to begin with, if state is not nil. stale means that this
	// program can't read a later snapshot.
	state  *machine.State
	header snapshotHeader
	stale  bool
	total  int // events that were read or are in the snapshot
	// live provides live events and may be nil. pendingLive are those not emitted yet.
	live        LiveStore
	pendingLive []LiveEvent
}

// snapshotHeader is the first line of a snapshot: the driver's data beside the machine's state.
type snapshotHeader struct {
	Started int64 `json:"started"` // Unix nanoseconds
	Last    int64 `json:"last"`    // time of the last event
	Steps   int   `json:"steps"`   // finished steps of the outermost graph
	// Emitted is the number of the last emitted event.
	Emitted int64 `json:"told,omitempty"`
	// Hidden are all values of secret keys so far.
	Hidden []string `json:"hidden,omitempty"`
}

// seekLatest loads the latest readable snapshot after at most `most` events. A negative most means any.
func (rec *record) seekLatest(most int) error {
	for {
		kept, err := rec.store.Snapshot(rec.id, most)
		rec.state, rec.header, rec.total = nil, snapshotHeader{}, 0
		if err != nil || kept.Events == 0 {
			return err
		}
		line, state, _ := bytes.Cut(kept.State, []byte("\n"))
		if err = json.Unmarshal(line, &rec.header); err == nil {
			rec.state, err = rec.flow.tree.Plan.Restore(state)
		}
		if err == nil {
			rec.total = kept.Events
			return nil
		}
		most, rec.stale = kept.Events-1, true
	}
}

// seekBefore loads the latest snapshot from before the end of a step.
func (rec *record) seekBefore(step int) error {
	if step <= 1 {
		return rec.seekLatest(0)
	}
	for most := -1; ; most = rec.total - 1 {
		if err := rec.seekLatest(most); err != nil || rec.state == nil || rec.header.Steps < step {
			return err
		}
	}
}

// readEvents reads the next events, or none at the end. The caller adds them to total.
func (rec *record) readEvents() ([]machine.Event, error) {
	return rec.store.Events(rec.id, rec.total, batchBytes)
}

// visitEvents visits the events in order, until visit returns false.
func (rec *record) visitEvents(visit func(e *machine.Event) (more bool, err error)) error {
	for {
		events, err := rec.readEvents()
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			rec.total++
			if more, err := visit(&events[i]); err != nil || !more {
				return err
			}
		}
	}
}

// loadRecord reads the record of a run and compiles its stored graph.
func (r *Runner) loadRecord(runID string) (*record, error) {
	if r.cfg.Store == nil {
		return nil, noStoreError(runID)
	}
	run, err := r.cfg.Store.Run(runID)
	if err != nil {
		return nil, err
	}
	flow, err := r.PrepareRecord(&run)
	if err != nil {
		return nil, err
	}
	return &record{id: runID, run: run, flow: flow, store: r.cfg.Store}, nil
}

// loadRecordAt returns a record that begins at the latest snapshot before a step. 0 is the beginning.
func (r *Runner) loadRecordAt(runID string, step int) (*record, error) {
	rec, err := r.loadRecord(runID)
	if err == nil {
		err = rec.seekBefore(step)
	}
	return rec, err
}

// loadDriver returns a driver in the current state of a run.
func (r *Runner) loadDriver(runID string, opts Options) (*driver, error) {
	rec, err := r.loadRecord(runID)
	if err == nil && !opts.History {
		err = rec.seekLatest(-1)
	}
	if err != nil {
		return nil, err
	}
	return rec.replayAll(opts)
}

// newDriver returns a driver in the state from which the record is read.
func (rec *record) newDriver(opts Options) (*driver, error) {
	opts.RunID, opts.Session = rec.run.ID, rec.run.Session
	opts.Dir = cmp.Or(opts.Dir, filepath.Dir(rec.flow.tree.Graph.File.Name))
	known, err := rec.flow.readSecrets(&opts)
	if err != nil {
		known, _ = rec.flow.readSecrets(&Options{Secrets: mask.Placeholders})
	}
	d := newDriver(rec.flow, opts, known)
	d.secretsErr = err
	d.startFrom(rec)
	if rec.run.Parent != "" {
		d.forked, d.started = rec.run.Started, rec.run.Started
	}
	d.state.SetSecrets(d.secrets)
	return d, nil
}

// replayAll returns a driver in the state after all events. It counts events but emits none.
func (rec *record) replayAll(opts Options) (*driver, error) {
	sink, warn := opts.Sink, opts.Warn
	opts.Sink, opts.Warn = nil, nil
	d, err := rec.newDriver(opts)
	if err == nil {
		err = rec.visitEvents(func(e *machine.Event) (bool, error) { return true, d.replayEvent(e) })
	}
	if err == nil && rec.total == 0 {
		err = fmt.Errorf("run %q has not begun", rec.id)
	}
	if err != nil {
		return nil, err
	}
	d.opts.Sink, d.opts.Warn = sink, warn
	d.updateWatched()
	return d, nil
}

// replayEvent applies a recorded event and emits its notes, but executes no command.
func (d *driver) replayEvent(event *machine.Event) error {
	if event.Kind == machine.Resumed || event.Kind == machine.CancelAsked || event.Hold {
		d.emitPause()
	}
	d.seq = max(d.seq, event.Emitted)
	if event.Kind == machine.Resumed {
		d.emitRunEvent(RunResumed, event.At, nil)
	}
	if event.Kind == machine.RunBegan {
		limit := 0
		if d.forked.IsZero() {
			d.started = time.Unix(0, event.At)
		}
		if event.Run != nil {
			d.mask.LearnState(d.plan.Graph, event.Run.Session)
			limit = event.Run.MaxSteps
		}
		d.mask.LearnState(d.plan.Graph, event.Input)
		d.emitStarted(event.Input, limit)
	}
	d.last = max(d.last, event.At)
	d.time.AdvanceTo(event.At)
	place, _ := d.state.Place(event.Task)
	d.places[event.Task] = place
	_, err := d.plan.Apply(d.state, *event)
	d.learnSecretValues()
	switch event.Kind {
	case machine.TaskEnded:
		d.emitSpoken(event)
	case machine.TaskNoted:
		d.emitUsage(event)
		d.emitToolCall(event)
	}
	delete(d.places, event.Task)
	d.emitNotes(event.At)
	if d.state.Status != machine.Paused {
		d.pauseEmitted = false
	}
	if err != nil {
		return err
	}
	return d.sinkErr
}

// emitPause emits once that the run pauses. While a run waits for a slot, its driver emits that.
func (d *driver) emitPause() {
	waits := d.emitsLive && d.state.Reason == "concurrency"
	if d.state.Status == machine.Paused && !d.pauseEmitted && !waits {
		d.pauseEmitted = true
		d.emitRunEvent(RunPaused, d.last, d.recordedResult())
	}
}

// countPauseEvents counts the two events that the previous driver emitted for a pause.
func (d *driver) countPauseEvents() {
	if d.state.Status == machine.Paused && !d.pauseEmitted {
		d.seq += 2
		d.pauseEmitted = true
	}
}

// recordedResult returns the result of a recorded run. Its duration ends with the last event.
func (d *driver) recordedResult() *Result {
	result := d.newResult()
	result.Duration = d.elapsed(d.last)
	return result
}

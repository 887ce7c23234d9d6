// Writing the journal: events in groups, and snapshots.

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// createJournal creates the journal of a run with its first event, if there is a store.
func (d *driver) createJournal(run store.RunRecord, first machine.Event) error {
	kept := d.flow.runner.cfg.Store
	if kept == nil {
		return nil
	}
	d.durable = 1
	return d.openNewJournal(func(first []machine.Event) (store.Journal, error) { return kept.Create(run, first...) }, first)
}

// openNewJournal opens a new journal. The function open stores the first events.
func (d *driver) openNewJournal(open func(first []machine.Event) (store.Journal, error), first ...machine.Event) (err error) {
	for i := range first {
		d.vault.MaskEvent(&first[i])
	}
	d.savedAt = d.now()
	if d.journal, err = open(first); errors.Is(err, store.ErrRunExists) {
		return err
	}
	return d.journalError(err)
}

// closeJournal stores the summary of a result and closes the journal.
func (d *driver) closeJournal(result *Result) error {
	if d.journal == nil {
		return nil
	}
	var err error
	if result != nil {
		err = d.journal.SaveSummary(d.newSummary(result))
	}
	return errors.Join(err, d.journal.Close())
}

// appendEvents stores events durably in one commit, if there is a journal.
func (d *driver) appendEvents(events ...machine.Event) error {
	if d.journal == nil || len(events) == 0 {
		return nil
	}
	d.setEmitted(&events[0])
	return d.journalError(d.journal.Append(events...))
}

// setEmitted sets Emitted of an event to the number of the last emitted event.
func (d *driver) setEmitted(event *machine.Event) {
	if event.Emitted == 0 && event.Kind != machine.RunBegan {
		event.Emitted = d.seq
	}
}

// journalError adds the run to an error of its journal. It returns nil for nil.
func (d *driver) journalError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal of run %s: %w", d.opts.RunID, err)
}

// applyReceived applies a received event. Events that arrived meanwhile are stored in the same commit
// and follow in the queue.
func (d *driver) applyReceived(event *machine.Event) (commands []machine.Command, at int64, err error) {
	switch {
	case d.durable > 0:
		d.durable--
	case d.journal == nil || d.countMessages() == 0 || d.state.HasEnded():
		return d.applyThenStore(event)
	default:
		d.vault.MaskEvent(event)
		group := []machine.Event{*event}
		for range d.countMessages() {
			if next := d.nextMessage()(); next != nil {
				d.vault.MaskEvent(next)
				group = append(group, *next)
			}
			if d.journalErr != nil {
				return nil, 0, d.journalErr
			}
		}
		if err := d.appendEvents(group...); err != nil {
			return nil, 0, err
		}
		d.queue, d.durable = append(group[1:], d.queue...), len(group)-1
	}
	return d.applyStored(event)
}

// taskStarts returns an event for each task that the commands start.
func (d *driver) taskStarts(commands []machine.Command) (begin []machine.Event) {
	for i := range commands {
		if c := &commands[i]; c.Kind == machine.RunTask {
			begin = append(begin, machine.Event{
				Kind: machine.TaskBegan, At: d.now(), Task: c.Task, Node: placePath(&c.Work.Place, c.Work.Index), Visit: c.Work.Visit,
			})
		}
	}
	return begin
}

// summaryInterval is the time between two calls of saveStepCount, in nanoseconds.
const summaryInterval = int64(time.Second)

// saveStepCount stores the number of steps, for lists of runs.
func (d *driver) saveStepCount(at int64) error {
	d.savedAt = at
	return d.journalError(d.journal.SaveSummary(store.RunSummary{Status: machine.Running, Steps: d.state.Steps(), Updated: time.Unix(0, at)}))
}

// brokenResult returns the result of a run whose journal failed, or nil if another driver has it.
func (d *driver) brokenResult(err error) *Result {
	var driven *store.DrivenError
	if errors.As(err, &driven) {
		return nil
	}
	result := d.newResult()
	result.Status, result.Reason, result.Quality, result.Output = machine.Failed, "store", "", nil
	result.Error = &Failure{Kind: "internal", Message: err.Error()}
	return result
}

// minSnapshotGap is the default of Runner.minSnapshotGap.
const minSnapshotGap = 64 << 10

// stepCost is how many bytes of events a step counts as, because a resume computes it again.
const stepCost = 64

// snapshotPolicy determines when a driver writes the next snapshot.
type snapshotPolicy struct {
	from  int  // minimum bytes of events before the next snapshot
	stale bool // write a snapshot at once
	// first is the size of the run's first event, which serves as a snapshot. fresh means that first is
	// not known yet.
	first int
	fresh bool
	count int // steps at the last snapshot
}

// snapshotIfDue writes a snapshot unless it is larger than the events since the last one.
func (d *driver) snapshotIfDue() error {
	if d.durable > 0 {
		return nil
	}
	limit := d.journal.BytesSinceSnapshot()
	if limit < 0 {
		return nil
	}
	if d.saved.fresh {
		d.saved.first, d.saved.fresh = limit, false
	}
	limit += stepCost*(d.state.RootSteps()-d.saved.count) - d.saved.first
	if limit < max(d.saved.from, d.flow.runner.minSnapshotGap) && !d.saved.stale {
		return nil
	}
	if d.saved.stale {
		limit = math.MaxInt
	}
	kept := snapshotHeader{
		Started: d.started.UnixNano(), Last: d.state.Now, Steps: d.state.RootSteps(), Emitted: d.seq, Hidden: d.mask.Learned,
	}
	text, err := json.Marshal(&kept)
	if err != nil {
		return err
	}
	state, err := d.state.Snapshot()
	if err != nil {
		return err
	}
	text = append(append(text, '\n'), state...)
	if d.saved.stale = false; len(text) > limit {
		d.saved.from = len(text)
		return nil
	}
	if err := d.journal.Snapshot(store.Snapshot{State: text}); err != nil {
		return d.journalError(err)
	}
	d.saved = snapshotPolicy{from: len(text), count: d.state.RootSteps()}
	return nil
}

// startFrom sets the driver to the state from which a record is read.
func (d *driver) startFrom(rec *record) {
	d.saved = snapshotPolicy{stale: rec.stale, count: rec.header.Steps}
	if rec.state == nil {
		return
	}
	d.state, rec.state = rec.state, nil
	d.updateWatched()
	d.checkpointSteps, d.seq = d.state.RootSteps(), rec.header.Emitted
	d.started, d.last = time.Unix(0, rec.header.Started), rec.header.Last
	d.time.AdvanceTo(d.last)
	for _, text := range rec.header.Hidden {
		d.mask.LearnValue(text)
	}
}

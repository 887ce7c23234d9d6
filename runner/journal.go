// Writing the journal, its events in groups and its snapshots.

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

// create makes the journal of a run with its first event, if there is a store.
func (d *driver) create(run store.RunRecord, first machine.Event) error {
	kept := d.flow.runner.cfg.Store
	if kept == nil {
		return nil
	}
	d.durable = 1
	return d.openNewJournal(func(first []machine.Event) (store.Journal, error) { return kept.Create(run, first...) }, first)
}

// openNewJournal opens a new journal by a function that stores the first events.
func (d *driver) openNewJournal(open func(first []machine.Event) (store.Journal, error), first ...machine.Event) (err error) {
	for i := range first {
		d.vault.Event(&first[i])
	}
	d.noted = d.now()
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

// appendEvents makes events durable in one commit, if there is a journal.
func (d *driver) appendEvents(events ...machine.Event) error {
	if d.journal == nil || len(events) == 0 {
		return nil
	}
	d.setEmitted(&events[0])
	return d.journalError(d.journal.Append(events...))
}

// setEmitted stores in an event the number of the last emitted event.
func (d *driver) setEmitted(event *machine.Event) {
	if event.Emitted == 0 && event.Kind != machine.RunBegan {
		event.Emitted = d.seq
	}
}

// journalError names the run in an error of its journal. nil stays nil.
func (d *driver) journalError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal of run %s: %w", d.opts.RunID, err)
}

// takeEvent applies a received event. Events that arrived meanwhile share its commit and follow
// in the queue.
func (d *driver) takeEvent(event *machine.Event) (commands []machine.Command, at int64, err error) {
	switch {
	case d.durable > 0:
		d.durable--
	case d.journal == nil || d.countMessages() == 0 || d.state.Ended():
		return d.applyThenStore(event)
	default:
		d.vault.Event(event)
		group := []machine.Event{*event}
		for range d.countMessages() {
			if next := d.nextMessage()(); next != nil {
				d.vault.Event(next)
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

// taskStarts returns the events of the tasks that commands begin.
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

// noteEvery is the time between two calls of noteSteps, in nanoseconds.
const noteEvery = int64(time.Second)

// noteSteps stores the number of steps for lists.
func (d *driver) noteSteps(at int64) error {
	d.noted = at
	return d.journalError(d.journal.SaveSummary(store.RunSummary{Status: machine.Running, Steps: d.state.Steps(), Updated: time.Unix(0, at)}))
}

// brokenResult returns the result of a run whose journal failed, or nil if another driver has it.
func (d *driver) brokenResult(err error) *Result {
	var driven *store.DrivenError
	if errors.As(err, &driven) {
		return nil
	}
	result := d.result()
	result.Status, result.Reason, result.Quality, result.Output = machine.Failed, "store", "", nil
	result.Error = &Failure{Kind: "internal", Message: err.Error()}
	return result
}

// leastTail is the default of Runner.leastTail.
const leastTail = 64 << 10

// stepCost is the cost in bytes of a step that a resume computes again.
const stepCost = 64

// snapshotPolicy determines when a driver writes the next snapshot.
type snapshotPolicy struct {
	from  int  // bytes of events after which the state is written
	stale bool // the state is written at once
	// first is the size of the run's first event, which is as good as a snapshot. fresh means that
	// first is not known yet.
	first int
	fresh bool
	count int // steps of the last snapshot
}

// keepSnapshot writes the state unless it is larger than the events since the last snapshot.
func (d *driver) keepSnapshot() error {
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
	limit += stepCost*(d.state.Count()-d.saved.count) - d.saved.first
	if limit < max(d.saved.from, d.flow.runner.leastTail) && !d.saved.stale {
		return nil
	}
	if d.saved.stale {
		limit = math.MaxInt
	}
	kept := head{
		Started: d.started.UnixNano(), Last: d.state.Now, Steps: d.state.Count(), Emitted: d.seq, Hidden: d.mask.Learned,
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
	d.saved = snapshotPolicy{from: len(text), count: d.state.Count()}
	return nil
}

// startFrom sets the driver to the state with which a record begins.
func (d *driver) startFrom(rec *record) {
	d.saved = snapshotPolicy{stale: rec.stale, count: rec.head.Steps}
	if rec.state == nil {
		return
	}
	d.state, rec.state = rec.state, nil
	d.updateWatched()
	d.counted, d.seq = d.state.Count(), rec.head.Emitted
	d.started, d.last = time.Unix(0, rec.head.Started), rec.head.Last
	d.time.NotBefore(d.last)
	for _, text := range rec.head.Hidden {
		d.mask.LearnValue(text)
	}
}

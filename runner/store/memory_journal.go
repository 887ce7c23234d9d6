// The journal of a run in memory.

package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// memoryJournal drives a run for as long as the run points to it.
type memoryJournal struct {
	*Inbox
	store *memory
	run   *memoryRun
	// failed and closed belong to the goroutine that writes.
	failed error
	closed bool
}

// Append adds an event.
func (j *memoryJournal) Append(e machine.Event) error { return j.AppendAll([]machine.Event{e}) }

// AppendAll adds events, all or none.
func (j *memoryJournal) AppendAll(events []machine.Event) error {
	if j.failed == nil {
		j.failed = j.append(events, func(Tx) (bool, error) { return true, nil })
	}
	return j.failed
}

// append adds events if a transaction says so.
func (j *memoryJournal) append(events []machine.Event, wanted func(Tx) (bool, error)) error {
	texts, err := encodeAll(events)
	if err != nil {
		return err
	}
	return j.write(func(tx Tx) error {
		ok, err := wanted(tx)
		if err != nil || !ok {
			return err
		}
		j.run.events = append(j.run.events, texts...)
		for _, text := range texts {
			j.run.journaled += len(text)
		}
		return nil
	})
}

// encodeAll returns the text of each event.
func encodeAll(events []machine.Event) (texts [][]byte, err error) {
	texts = make([][]byte, len(events))
	for i := range events {
		if texts[i], err = EncodeEvent(&events[i]); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// Settle settles an offer.
func (j *memoryJournal) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	if j.failed == nil {
		j.failed = j.append(events, func(tx Tx) (bool, error) {
			taken, err = SettleOffer(tx, id, refused)
			return taken, err
		})
	}
	j.Look() // there is room now for offers that had to wait
	return taken && j.failed == nil, j.failed
}

// Snapshot keeps a state.
func (j *memoryJournal) Snapshot(s Snapshot) error {
	return j.write(func(Tx) error {
		s.Events, s.State = len(j.run.events), slices.Clone(s.State)
		j.run.snapshots = append(slices.DeleteFunc(j.run.snapshots, func(old Snapshot) bool { return old.Events == s.Events }), s)
		j.run.journaled = 0
		return nil
	})
}

// Adopt replaces the graph of the run.
func (j *memoryJournal) Adopt(r RunRecord) error {
	return j.write(func(Tx) error {
		r, to := copyRecord(r), &j.run.summary
		to.Graph, to.File, to.Source, to.Files = r.Graph, r.File, r.Source, r.Files
		j.run.snapshots = nil
		j.run.countJournaled()
		return nil
	})
}

// Journaled is the size of the events since the last snapshot.
func (j *memoryJournal) Journaled() int {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	return j.run.journaled
}

// Note tells what List shows.
func (j *memoryJournal) Note(s RunSummary) error {
	return j.write(func(Tx) error {
		to := &j.run.summary
		to.Status, to.Reason, to.Quality, to.Steps, to.Due, to.Updated = s.Status, s.Reason, s.Quality, s.Steps, s.Due, s.Updated
		return nil
	})
}

// Enter asks for a slot in a group.
func (j *memoryJournal) Enter(group string, limit int) (out GroupState, err error) {
	err = j.write(func(tx Tx) (err error) {
		out, err = EnterGroup(tx, j.run.summary.ID, group, limit, time.Now())
		return err
	})
	return out, err
}

// Close releases the run.
func (j *memoryJournal) Close() error {
	j.closed = true
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if j.run.journal != j {
		return nil
	}
	j.run.journal, j.run.summary.Owner = nil, ""
	return j.store.update(func(tx Tx) error { return ClearDriver(tx, j.run.summary.ID) })
}

// write changes the run if the journal still drives it.
func (j *memoryJournal) write(change func(Tx) error) error {
	if j.closed {
		return fmt.Errorf("run %q: %w", j.run.summary.ID, ErrJournalClosed)
	}
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	return j.store.update(change)
}

// The journal of a run, open for its driver: what is the same in all stores.

package store

import (
	"fmt"
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

// JournalTx is a transaction of the driver of a run.
type JournalTx interface {
	Tx
	// Append adds the texts of events after the first n.
	Append(n int, texts [][]byte) error
	// Snapshot stores the state after the first n events.
	Snapshot(n int, state []byte) error
	// Adopt replaces the graph of the run and deletes its snapshots.
	Adopt(run RunRecord) error
	// Note changes what List shows.
	Note(s RunSummary) error
}

// OpenRun is a run that NewJournal opens.
type OpenRun struct {
	Base  Base
	RunID string
	// Events is the number of events so far, Journaled the bytes of those since the last
	// snapshot.
	Events, Journaled int
	// Update runs a transaction.
	Update func(do func(tx JournalTx) error) error
	// AppendOne adds an event without a transaction around it, which costs half; nil: Update
	// does.
	AppendOne func(n int, text []byte) error
	// Release releases the run for other drivers. It is called once.
	Release func() error
}

// DriverJournal is a Journal.
type DriverJournal struct {
	*Inbox
	mu     sync.Mutex // of what follows
	run    OpenRun
	failed error
	closed bool
}

// NewJournal opens the journal of a run.
func NewJournal(run OpenRun) *DriverJournal {
	return &DriverJournal{Inbox: newInbox(run.Base, run.RunID), run: run}
}

// Append adds an event.
func (j *DriverJournal) Append(e machine.Event) error {
	if j.run.AppendOne == nil {
		return j.AppendAll([]machine.Event{e})
	}
	return j.write(func() error {
		text, err := EncodeEvent(&e)
		if err != nil {
			return err
		}
		j.run.Events++
		j.run.Journaled += len(text)
		return j.run.AppendOne(j.run.Events-1, text)
	})
}

// AppendAll adds events, all or none.
func (j *DriverJournal) AppendAll(events []machine.Event) error {
	return j.update(func(tx JournalTx) error { return j.append(tx, events) })
}

// append adds events. A journal whose transaction fails then needs its counters no more.
func (j *DriverJournal) append(tx JournalTx, events []machine.Event) error {
	texts, err := EncodeEvents(events)
	if err != nil {
		return err
	}
	n := j.run.Events
	j.run.Events += len(texts)
	for _, text := range texts {
		j.run.Journaled += len(text)
	}
	return tx.Append(n, texts)
}

// Settle settles an offer: its events are added and it is deleted in one transaction.
func (j *DriverJournal) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	err = j.update(func(tx JournalTx) (err error) {
		if taken, err = settleOffer(tx, id, refused); err == nil && taken {
			err = j.append(tx, events)
		}
		return err
	})
	j.Look() // there is room now for offers that had to wait
	return taken && err == nil, err
}

// Snapshot stores the state after the events so far.
func (j *DriverJournal) Snapshot(s Snapshot) error {
	return j.update(func(tx JournalTx) error {
		j.run.Journaled = 0
		return tx.Snapshot(j.run.Events, s.State)
	})
}

// Journaled is the size of the events since the last snapshot.
func (j *DriverJournal) Journaled() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Journaled
}

// Note changes what List shows.
func (j *DriverJournal) Note(s RunSummary) error {
	return j.update(func(tx JournalTx) error { return tx.Note(s) })
}

// Adopt replaces the graph of the run.
func (j *DriverJournal) Adopt(run RunRecord) error {
	return j.update(func(tx JournalTx) error { return tx.Adopt(run) })
}

// Enter asks for a slot in a group.
func (j *DriverJournal) Enter(group string, limit int) (out GroupState, err error) {
	err = j.update(func(tx JournalTx) (err error) {
		out, err = enterGroup(tx, j.run.RunID, group, limit, j.run.Base.Now())
		return err
	})
	return out, err
}

// update runs a transaction of the driver.
func (j *DriverJournal) update(do func(tx JournalTx) error) error {
	return j.write(func() error { return j.run.Update(do) })
}

// write changes the store. After an error nothing more is written, because what the store
// holds then is not known.
func (j *DriverJournal) write(do func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.err(); err != nil {
		return err
	}
	j.failed = do()
	return j.failed
}

// Err returns why nothing more can be written, or nil.
func (j *DriverJournal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err()
}

func (j *DriverJournal) err() error {
	if j.failed == nil && j.closed {
		return fmt.Errorf("run %q: %w", j.run.RunID, ErrJournalClosed)
	}
	return j.failed
}

// Fail keeps the driver from writing, and asks it to cancel what runs.
func (j *DriverJournal) Fail(err error) {
	j.mu.Lock()
	if j.failed == nil {
		j.failed = err
	}
	j.mu.Unlock()
	j.asked <- RequestCancel
}

// Close releases the run.
func (j *DriverJournal) Close() error {
	j.mu.Lock()
	closed := j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return nil
	}
	return j.run.Release()
}

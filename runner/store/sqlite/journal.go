// The journal of a run in the file.

package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// runShift makes room for the events of a run in the ids of all events.
const runShift = 32

// firstID and lastID bound the ids of a run's events.
func firstID(run int64) int64 { return run<<runShift + 1 }
func lastID(run int64) int64  { return run<<runShift + 1<<runShift - 1 }

// journal holds the lock of a run until Close. A goroutine polls for requests and offers
// and writes notes that may wait.
type journal struct {
	*store.Inbox
	store *Store
	runID string
	ownership
	stop  chan struct{}
	ended chan struct{} // that goroutine has

	mu        sync.Mutex // of what follows
	last      int64      // the id of the last event
	journaled int
	note      store.RunSummary
	noted     bool // note is in the file
	failed    error
	closed    bool
}

// start opens a journal whose lock has been taken.
func (s *Store) start(runID string, d ownership, last int64, journaled int) *journal {
	j := &journal{
		store: s, runID: runID, ownership: d, last: last, journaled: journaled, noted: true,
		stop: make(chan struct{}), ended: make(chan struct{}), Inbox: store.NewInbox(base{s}, runID),
	}
	s.mu.Lock()
	s.journals[j] = true
	s.mu.Unlock()
	go j.live()
	return j
}

// Append adds an event: one statement, one commit, one wait for the disk.
func (j *journal) Append(e machine.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error {
		text, err := store.EncodeEvent(&e)
		if err != nil {
			return err
		}
		if err := insertEvent(j.store.writer.appendEvent, j.last+1, text); err != nil {
			return err
		}
		j.last++
		j.journaled += len(text)
		return nil
	})
}

// AppendAll adds events in one commit.
func (j *journal) AppendAll(events []machine.Event) error {
	return j.append(events, func(transaction) (bool, error) { return true, nil })
}

// Settle settles an offer: its events are added and it is deleted in one commit.
func (j *journal) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	err = j.append(events, func(tx transaction) (bool, error) {
		taken, err = store.SettleOffer(tx, id, refused)
		return taken, err
	})
	return taken && err == nil, err
}

// append adds events in a transaction that decides whether they are wanted.
func (j *journal) append(events []machine.Event, wanted func(tx transaction) (bool, error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error {
		last, size := j.last, 0
		err := j.store.update(func(tx transaction) error {
			ok, err := wanted(tx)
			if err == nil && ok {
				last, size, err = insertEvents(tx.Stmt(j.store.writer.appendEvent), j.last, events)
			}
			return err
		})
		if err == nil {
			j.last, j.journaled = last, j.journaled+size
		}
		return err
	})
}

// Enter asks for a slot in a group.
func (j *journal) Enter(group string, limit int) (out store.GroupState, err error) {
	err = j.update(func(tx transaction) (err error) {
		out, err = store.EnterGroup(tx, j.runID, group, limit, j.store.opts.Now())
		return err
	})
	return out, err
}

// update runs a transaction of the driver.
func (j *journal) update(do func(tx transaction) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error { return j.store.update(do) })
}

// insertEvent adds a row.
func insertEvent(statement *sql.Stmt, id int64, text []byte) error {
	_, err := statement.Exec(id, string(text))
	return err
}

// insertEvents adds rows after the one of an id. It returns the id of the last
// row, and the size of what was added.
func insertEvents(statement *sql.Stmt, after int64, events []machine.Event) (last int64, size int, err error) {
	for i := range events {
		text, err := store.EncodeEvent(&events[i])
		if err != nil {
			return 0, 0, err
		}
		after++
		size += len(text)
		if err := insertEvent(statement, after, text); err != nil {
			return 0, 0, err
		}
	}
	return after, size, nil
}

// Snapshot keeps the state after the events so far.
func (j *journal) Snapshot(s store.Snapshot) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error {
		err := j.store.update(func(tx transaction) error {
			_, err := tx.Exec(`INSERT OR REPLACE INTO snapshots (id, state) VALUES (?, ?)`, j.last, blob(s.State))
			return err
		})
		if err == nil {
			j.journaled = 0
		}
		return err
	})
}

// blob is never NULL.
func blob(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// Journaled is the size of the events since the last snapshot.
func (j *journal) Journaled() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.journaled
}

// Note keeps a new status or reason at once, all else when the next beat comes.
func (j *journal) Note(s store.RunSummary) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error {
		urgent := s.Status != j.note.Status || s.Reason != j.note.Reason || s.Quality != j.note.Quality || !s.Due.Equal(j.note.Due)
		j.note, j.noted = s, false
		if !urgent {
			return nil
		}
		return j.store.update(j.keepNote)
	})
}

// keepNote writes the note if it is news. The caller has the lock.
func (j *journal) keepNote(tx transaction) error {
	if j.noted {
		return nil
	}
	_, err := tx.Exec(`UPDATE runs SET status = ?, reason = ?, quality = ?, steps = ?, due = ?, updated = ? WHERE no = ?`,
		string(j.note.Status), j.note.Reason, string(j.note.Quality), j.note.Steps, nanoseconds(j.note.Due), nanoseconds(j.note.Updated), j.run)
	j.noted = err == nil
	return err
}

// write runs something that changes the file; after an error nothing more is
// written, because what the file holds then is not known. The caller has the lock.
func (j *journal) write(do func() error) error {
	switch {
	case j.failed != nil:
		return j.failed
	case j.closed:
		return fmt.Errorf("run %q: %w", j.runID, store.ErrJournalClosed)
	}
	err := do()
	if gone := j.store.stands(); gone != nil { // also when SQLite took no notice
		err = gone
	}
	j.failed = j.store.wrap(err)
	return j.failed
}

// live polls for requests and offers and writes pending notes until the journal closes
// or fails.
func (j *journal) live() {
	defer close(j.ended)
	beat, stopBeat := ticks(j.store.opts.Beat)
	defer stopBeat()
	look, stopLook := ticks(j.store.opts.Look)
	defer stopLook()
	for {
		select {
		case <-j.stop:
			return
		case <-beat:
			if j.beat() != nil {
				return
			}
		case <-look:
			if j.vanished() {
				return
			}
			j.Look()
		}
	}
}

// vanished finds out whether the file is still there. If not, the driver is asked
// to cancel what runs; it learns why when it writes that down.
func (j *journal) vanished() bool {
	gone := j.store.stands()
	if gone == nil {
		return false
	}
	j.mu.Lock()
	if j.failed == nil {
		j.failed = j.store.wrap(gone)
	}
	j.mu.Unlock()
	j.Cancel()
	return true
}

// ticks comes every so often; never, when that is negative.
func ticks(every time.Duration) (c <-chan time.Time, stop func()) {
	if every < 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(every)
	return ticker.C, ticker.Stop
}

// beat writes what was noted. An error that may pass, such as a file that is locked, is
// left to the next time.
func (j *journal) beat() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil && !j.closed && !j.noted {
		_ = j.store.update(j.keepNote)
	}
	return j.failed
}

// Close writes what was noted and gives the lock back.
func (j *journal) Close() error {
	j.mu.Lock()
	closed := j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return nil
	}
	close(j.stop)
	<-j.ended
	j.store.mu.Lock()
	delete(j.store.journals, j)
	j.store.mu.Unlock()
	err := j.store.update(func(tx transaction) error {
		return errors.Join(j.keepNote(tx), setDriver(tx, j.run, j.runID, ""))
	})
	return j.store.wrap(errors.Join(err, unlock(j.lock)))
}

// The journal of a run in the file.

package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"sync"
	"time"

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
	*store.DriverJournal
	store *Store
	runID string
	ownership
	stop  chan struct{}
	ended chan struct{} // that goroutine has

	mu    sync.Mutex // of what follows
	note  store.RunSummary
	noted bool // note is in the file
}

// start opens a journal whose lock has been taken.
func (s *Store) start(runID string, d ownership, events, journaled int) *journal {
	j := &journal{store: s, runID: runID, ownership: d, noted: true, stop: make(chan struct{}), ended: make(chan struct{})}
	j.DriverJournal = store.NewJournal(store.OpenRun{
		Base: base{s}, RunID: runID, Events: events, Journaled: journaled, Update: j.commit, AppendOne: j.appendOne, Release: j.release,
	})
	s.mu.Lock()
	s.journals[j] = true
	s.mu.Unlock()
	go j.live()
	return j
}

// commit runs a transaction.
func (j *journal) commit(do func(tx store.JournalTx) error) error {
	return j.check(j.store.update(func(tx transaction) error { return do(runTx{tx, j.run}) }))
}

// appendOne adds an event: one statement, one commit, one wait for the disk.
func (j *journal) appendOne(n int, text []byte) error {
	return j.check(insertEvent(j.store.writer.appendEvent, firstID(j.run)+int64(n), text))
}

func insertEvent(statement *sql.Stmt, id int64, text []byte) error {
	_, err := statement.Exec(id, string(text))
	return err
}

// check returns the error of a commit, or that the file is gone, which SQLite may not notice.
func (j *journal) check(err error) error {
	return j.store.wrap(cmp.Or(j.store.stands(), err))
}

// runTx is a transaction of the driver of a run.
type runTx struct {
	transaction
	run int64
}

// Append adds events.
func (tx runTx) Append(n int, texts [][]byte) error {
	statement := tx.Stmt(tx.store.writer.appendEvent)
	for i, text := range texts {
		if err := insertEvent(statement, firstID(tx.run)+int64(n+i), text); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot stores a state.
func (tx runTx) Snapshot(n int, state []byte) error {
	_, err := tx.Exec(`INSERT OR REPLACE INTO snapshots (id, state) VALUES (?, ?)`, firstID(tx.run)-1+int64(n), blob(state))
	return err
}

// blob is never NULL.
func blob(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// Note changes what List shows.
func (tx runTx) Note(s store.RunSummary) error {
	_, err := tx.Exec(`UPDATE runs SET status = ?, reason = ?, quality = ?, steps = ?, due = ?, updated = ? WHERE no = ?`,
		string(s.Status), s.Reason, string(s.Quality), s.Steps, nanoseconds(s.Due), nanoseconds(s.Updated), tx.run)
	return err
}

// Note keeps a new status or reason at once, all else when the next beat comes.
func (j *journal) Note(s store.RunSummary) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	urgent := s.Status != j.note.Status || s.Reason != j.note.Reason || s.Quality != j.note.Quality || !s.Due.Equal(j.note.Due)
	j.note, j.noted = s, false
	if !urgent {
		return j.Err()
	}
	err := j.DriverJournal.Note(s)
	j.noted = err == nil
	return err
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
			if j.Err() != nil {
				return
			}
			j.beat()
		case <-look:
			if gone := j.store.stands(); gone != nil {
				j.Fail(j.store.wrap(gone)) // the driver learns why when it writes
				return
			}
			j.Look()
		}
	}
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
func (j *journal) beat() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.noted {
		j.noted = j.store.update(j.keepNote) == nil
	}
}

// keepNote writes the note if it is news. The caller has the lock.
func (j *journal) keepNote(tx transaction) error {
	if j.noted {
		return nil
	}
	return runTx{tx, j.run}.Note(j.note)
}

// release writes what was noted and gives the lock back.
func (j *journal) release() error {
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

// Requests: what other processes want of the driver of a run.

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// Ask leaves a request for the driver of a run.
func (s *Store) Ask(runID string, request store.Request) error {
	return s.updateSoon(func(tx *sql.Tx) error {
		run, err := runNumber(tx, runID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO requests (run, want) VALUES (?1, ?2)
			ON CONFLICT (run) DO UPDATE SET want = ?2 WHERE want NOT LIKE ?3`, run, string(request), string(store.RequestCancel)+"%")
		return err
	})
}

// retryBusy is how soon updateSoon tries again.
const retryBusy = 200 * time.Microsecond

// updateSoon is update among drivers that commit one step after the other.
// SQLite waits longer and longer for them, and may wait for seconds; who tries
// often finds a gap.
func (s *Store) updateSoon(do func(tx *sql.Tx) error) (err error) {
	if s.writer == nil {
		return s.wrap(errReadOnly)
	}
	ctx := context.Background()
	conn, err := s.writer.Conn(ctx) // the only one: others of this process wait meanwhile
	if err != nil {
		return s.wrap(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return s.wrap(err)
	}
	defer func() {
		_, failed := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, s.opts.Busy.Milliseconds()))
		err = errors.Join(err, s.wrap(failed))
	}()
	for end := time.Now().Add(s.opts.Busy); ; time.Sleep(retryBusy) {
		if err = s.writer.updateBy(ctx, conn, do); !isBusy(err) || time.Now().After(end) {
			return s.wrap(err)
		}
	}
}

// Asked delivers requests.
func (j *journal) Asked() <-chan store.Request { return j.asked }

// look finds out whether there is a request. What can't be read now is left to
// the next time. There is room for all requests that are told apart.
func (j *journal) look() {
	var want string
	err := j.store.reader.QueryRow(`SELECT want FROM requests WHERE run = ?`, j.run).Scan(&want)
	if err != nil || store.Request(want) == j.wanted {
		return
	}
	j.wanted = store.Request(want)
	j.asked <- j.wanted
}

// changedOne says whether a statement changed its row.
func changedOne(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

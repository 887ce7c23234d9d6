// Requests: what other processes want of the driver of a run.

package sqlite

import (
	"database/sql"

	"github.com/graphrun/graphrun/runner"
)

// Ask leaves a request for the driver of a run.
func (s *Store) Ask(runID string, request runner.Request) error {
	return s.update(func(tx *sql.Tx) error {
		run, err := runNumber(tx, runID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO requests (run, want) VALUES (?1, ?2)
			ON CONFLICT (run) DO UPDATE SET want = ?2 WHERE want <> ?3`, run, string(request), string(runner.RequestCancel))
		return err
	})
}

// Asked delivers requests.
func (j *journal) Asked() <-chan runner.Request { return j.asked }

// look finds out whether there is a request. What can't be read now is left to
// the next time. There is room for all requests that are told apart.
func (j *journal) look() {
	var want string
	err := j.store.reader.QueryRow(`SELECT want FROM requests WHERE run = ?`, j.lease.run).Scan(&want)
	if err != nil || runner.Request(want) == j.wanted {
		return
	}
	j.wanted = runner.Request(want)
	j.asked <- j.wanted
}

// Runs without events: an older version, whose process ended at its beginning,
// kept the row of a run and no event of it. Such a run has never started.

package sqlite

import (
	"database/sql"
	"errors"
	"time"
)

// began is the condition under which a row of runs is a run. What has taken steps
// and has no events is no run that never started but a damaged one.
const began = `(runs.steps > 0 OR EXISTS (SELECT 1 FROM events WHERE events.id BETWEEN (runs.no << 32) + 1 AND (runs.no << 32) + 0xffffffff))`

// makeRoom drops a run of that id that never started, unless it has a driver.
func (s *Store) makeRoom(tx *sql.Tx, runID string) error {
	var run int64
	err := tx.QueryRow(`SELECT no FROM runs WHERE id = ? AND NOT `+began, runID).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, _, held, err := s.holder(tx, run, s.opts.Now()); err != nil || held {
		return err
	}
	return drop(tx, run)
}

// Sweep forgets the runs that never started.
func (s *Store) Sweep(before time.Time, look bool) (swept []string, err error) {
	err = s.update(func(tx *sql.Tx) error {
		swept = nil
		ids, numbers, err := unstarted(tx, before)
		if err != nil {
			return err
		}
		for i, run := range numbers {
			if _, _, held, err := s.holder(tx, run, s.opts.Now()); err != nil {
				return err
			} else if held {
				continue
			}
			swept = append(swept, ids[i])
			if look {
				continue
			}
			if err := drop(tx, run); err != nil {
				return err
			}
		}
		return nil
	})
	return swept, err
}

func unstarted(tx *sql.Tx, before time.Time) (ids []string, numbers []int64, err error) {
	rows, err := tx.Query(`SELECT id, no FROM runs WHERE coalesce(updated < ?, true) AND NOT `+began+` ORDER BY id`, before.UnixNano())
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var run int64
		if err := rows.Scan(&id, &run); err != nil {
			return nil, nil, err
		}
		ids, numbers = append(ids, id), append(numbers, run)
	}
	return ids, numbers, rows.Err()
}

// dropOwn drops a run that never started, if the lease is held.
func dropOwn(tx *sql.Tx, l lease) error {
	var held bool
	err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM leases WHERE run = ? AND token = ?)`, l.run, l.token).Scan(&held)
	if err != nil || !held {
		return err
	}
	return drop(tx, l.run)
}

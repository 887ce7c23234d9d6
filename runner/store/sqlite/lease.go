// Leases: one driver per run.

package sqlite

import (
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// lease is the right to drive a run. Its token is drawn anew whenever it is
// taken, so that a driver that was away too long can't mistake another one's
// lease for its own, nor that of a later run in the place of a deleted one.
type lease struct {
	run   int64 // the number of the run
	token int64
	owner string
}

// term is until when a lease holds: by the clock of the machine, which may be set, and
// by how long the machine has been awake since it was started, which all of its
// processes see alike. What the second says counts where it can be compared.
type term struct {
	until int64          // Unix time in nanoseconds
	boot  sql.NullString // which start of the machine
	awake sql.NullInt64  // since then, in nanoseconds
}

// newTerm is that of a lease that is taken or renewed now.
func (s *Store) newTerm() term {
	t := term{until: s.opts.Now().Add(s.opts.Lease).UnixNano()}
	if boot, awake := s.opts.Awake(); boot != "" {
		t.boot = sql.NullString{String: boot, Valid: true}
		t.awake = sql.NullInt64{Int64: int64(awake + s.opts.Lease), Valid: true}
	}
	return t
}

// left is for how long a lease still holds.
func (s *Store) left(t term, now time.Time) time.Duration {
	if boot, awake := s.opts.Awake(); boot != "" && boot == t.boot.String && t.awake.Valid {
		return time.Duration(t.awake.Int64) - awake
	}
	return time.Unix(0, t.until).Sub(now)
}

// ends is when a lease ends, by the clock.
func (s *Store) ends(t term, now time.Time) time.Time { return now.Add(s.left(t, now)) }

// holder says who has the lease of a run at a time; ok: somebody else has it.
func (s *Store) holder(tx *sql.Tx, run int64, now time.Time) (owner string, until time.Time, ok bool, err error) {
	var t term
	err = tx.QueryRow(`SELECT owner, until, boot, awake FROM leases WHERE run = ?`, run).Scan(&owner, &t.until, &t.boot, &t.awake)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, false, nil
	}
	until = s.ends(t, now)
	return owner, until, err == nil && now.Before(until) && !s.opts.Dead(owner), err
}

// take gives the lease of a run to an owner.
func (s *Store) take(tx *sql.Tx, run int64, owner string) (lease, error) {
	l := lease{run: run, token: newToken(), owner: owner}
	for _, table := range []string{"requests", "groups"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE run = ?`, run); err != nil {
			return l, err
		}
	}
	t := s.newTerm()
	_, err := tx.Exec(`INSERT OR REPLACE INTO leases (run, token, owner, until, boot, awake) VALUES (?, ?, ?, ?, ?, ?)`,
		run, l.token, owner, t.until, t.boot, t.awake)
	return l, err
}

// renew makes a lease last; it reports whether it was still held. It holds on
// although its time was over when nobody has taken it meanwhile: a machine
// that slept goes on where it was.
func (s *Store) renew(tx *sql.Tx, l lease) (held bool, err error) {
	t := s.newTerm()
	r, err := tx.Exec(`UPDATE leases SET until = ?, boot = ?, awake = ?, checked = 0 WHERE run = ? AND token = ?`,
		t.until, t.boot, t.awake, l.run, l.token)
	return changedOne(r, err)
}

// release gives a lease back.
func release(tx *sql.Tx, l lease) error {
	released, err := changedOne(tx.Exec(`DELETE FROM leases WHERE run = ? AND token = ?`, l.run, l.token))
	for _, table := range []string{"requests", "groups"} {
		if err == nil && released {
			_, err = tx.Exec(`DELETE FROM `+table+` WHERE run = ?`, l.run)
		}
	}
	return err
}

// lost says why a lease is not held any more.
func (s *Store) lost(runID string, l lease) error {
	var owner sql.NullString
	var t term
	err := s.writer.QueryRow(`SELECT owner, coalesce(until, 0), boot, awake FROM runs LEFT JOIN leases ON leases.run = runs.no WHERE runs.id = ? AND runs.no = ?`,
		runID, l.run).Scan(&owner, &t.until, &t.boot, &t.awake)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return noRun(runID)
	case err != nil:
		return err
	case !owner.Valid:
		return &store.LeasedError{RunID: runID, Owner: "another driver, which has let go since"}
	}
	return &store.LeasedError{RunID: runID, Owner: owner.String, Until: s.ends(t, s.opts.Now())}
}

func newToken() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

// changedOne says whether a statement changed its row.
func changedOne(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

// Locks: one driver per run.

package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/graphrun/graphrun/runner/store"
)

// drive is the right to drive a run: a file beside the store that is locked. The
// operating system takes the lock back when the process ends, however it ends.
type drive struct {
	run  int64 // the number of the run
	lock *flock.Flock
}

// lockPatience is for how long a lock is tried that somebody has who only looks.
const lockPatience = 20 * time.Millisecond

// lock takes the lock of a run; nil: another driver has it.
func (s *Store) lock(runID string) (*flock.Flock, error) {
	path := s.RunDir(runID) + ".lock"
	for end := time.Now().Add(lockPatience); ; time.Sleep(time.Millisecond) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		lock := flock.New(path, flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		if held && s.isAt(path, lock) {
			return lock, nil
		}
		_ = lock.Close()
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case err == nil && !held && time.Now().After(end):
			return nil, nil
		}
	}
}

// isAt reports whether a locked file is still at its path: a driver that ends removes it.
func (s *Store) isAt(path string, lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(locked, now)
}

// unlock gives a lock back. Where a file that is open can't be removed it stays, and is
// locked again next time.
func unlock(lock *flock.Flock) error {
	_ = os.Remove(lock.Path())
	_ = os.Remove(filepath.Dir(lock.Path())) // if it is empty
	return lock.Close()
}

// driven reports whether a driver has a run, now.
func (s *Store) driven(runID string) bool {
	lock := flock.New(s.RunDir(runID)+".lock", flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryRLock()
	return err == nil && !free
}

// take notes who drives a run whose lock is held, and forgets what was asked of the
// driver before.
func (s *Store) take(tx *sql.Tx, run int64, owner string) error {
	if err := leave(tx, run); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO drivers (run, owner) VALUES (?, ?)`, run, owner)
	return err
}

// leave forgets the driver of a run, and what belongs to it.
func leave(tx *sql.Tx, run int64) error {
	for _, table := range []string{"drivers", "requests", "groups"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE run = ?`, run); err != nil {
			return err
		}
	}
	return nil
}

// errDriven names the driver of a run.
func (s *Store) errDriven(runID string) error {
	owner := "a driver that begins or ends"
	err := s.reader.QueryRow(`SELECT owner FROM drivers JOIN runs ON runs.no = drivers.run WHERE runs.id = ?`, runID).Scan(&owner)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s.wrap(err)
	}
	return &store.DrivenError{RunID: runID, Owner: owner}
}

// ThisProcess names this process as a driver.
func ThisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

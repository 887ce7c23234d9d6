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

// ownership is the right to write a run's journal: a locked file beside the store. The
// operating system releases the lock when the process ends.
type ownership struct {
	run  int64 // the number of the run
	lock *flock.Flock
}

// lockPatience covers the moment in which a reader holds the lock to test it.
const lockPatience = 20 * time.Millisecond

// lock locks a run. It returns nil if another driver holds the lock.
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

// isAt reports whether the locked file still exists at its path. unlock removes it.
func (s *Store) isAt(path string, lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(locked, now)
}

// unlock removes and releases a lock. Windows can't remove an open file; the next driver
// locks it again.
func unlock(lock *flock.Flock) error {
	_ = os.Remove(lock.Path())
	_ = os.Remove(filepath.Dir(lock.Path())) // if it is empty
	return lock.Close()
}

// isDriven reports whether a driver holds the lock of a run.
func (s *Store) isDriven(runID string) bool {
	lock := flock.New(s.RunDir(runID)+".lock", flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryRLock()
	return err == nil && !free
}

// setDriver stores the driver's name and deletes requests to earlier drivers.
func (s *Store) setDriver(tx *sql.Tx, run int64, owner string) error {
	if err := clearDriver(tx, run); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO drivers (run, owner) VALUES (?, ?)`, run, owner)
	return err
}

// clearDriver deletes the driver of a run, its requests and its place in a group.
func clearDriver(tx *sql.Tx, run int64) error {
	for _, table := range []string{"drivers", "requests", "groups"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE run = ?`, run); err != nil {
			return err
		}
	}
	return nil
}

// drivenError returns a *store.DrivenError with the driver's name.
func (s *Store) drivenError(runID string) error {
	owner := "a driver that begins or ends"
	err := s.reader.QueryRow(`SELECT owner FROM drivers JOIN runs ON runs.no = drivers.run WHERE runs.id = ?`, runID).Scan(&owner)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s.wrap(err)
	}
	return &store.DrivenError{RunID: runID, Owner: owner}
}

// ThisProcess returns the name of this process as a driver.
func ThisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

// Locks: one driver per run.

package sqlite

import (
	"cmp"
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

// setDriver stores the driver's name, "" for none, and deletes what belonged to the one before.
func setDriver(tx transaction, run int64, runID, owner string) error {
	if _, err := tx.Exec(`UPDATE runs SET owner = ? WHERE no = ?`, owner, run); err != nil {
		return err
	}
	return store.ClearDriver(tx, runID)
}

// drivenError returns a *store.DrivenError with the driver's name.
func (s *Store) drivenError(runID string) error {
	owner, err := s.ownerOf(runID)
	if err != nil && !errors.Is(err, store.ErrNoRun) {
		return err
	}
	return &store.DrivenError{RunID: runID, Owner: cmp.Or(owner, "a driver that begins or ends")}
}

// ownerOf returns the name of the driver of a run, which need not be alive.
func (s *Store) ownerOf(runID string) (owner string, err error) {
	err = s.reader.QueryRow(`SELECT owner FROM runs WHERE id = ?`, runID).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", noRun(runID)
	}
	return owner, s.wrap(err)
}

// ThisProcess returns the name of this process as a driver.
func ThisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

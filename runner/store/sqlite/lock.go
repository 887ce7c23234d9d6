// Locks: a run has one driver.

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPatience covers the moment in which a reader holds the lock to test it.
const lockPatience = 20 * time.Millisecond

// Lock locks a file beside the store. The operating system unlocks it when the process ends.
func (s kv) Lock(runID string) (release func() error, err error) {
	if s.writer == nil {
		return nil, s.wrapError(errReadOnly)
	}
	lock, err := s.lockRun(runID)
	if err != nil || lock == nil {
		return nil, s.wrapError(err)
	}
	return func() error {
		_ = os.Remove(lock.Path())               // fails on Windows, where it is open
		_ = os.Remove(filepath.Dir(lock.Path())) // if it is empty
		return lock.Close()
	}, nil
}

// lockRun locks a run. It returns nil if another driver holds the lock.
func (s *Store) lockRun(runID string) (*flock.Flock, error) {
	path := s.RunDir(runID) + ".lock"
	for end := time.Now().Add(lockPatience); ; time.Sleep(time.Millisecond) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		lock := flock.New(path, flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		if held && s.isLockedAt(path, lock) {
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

// isLockedAt reports whether the locked file still exists at its path. unlock removes it.
func (s *Store) isLockedAt(path string, lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(locked, now)
}

// IsLocked reports whether a driver holds the lock of a run.
func (s kv) IsLocked(runID string) bool {
	lock := flock.New(s.RunDir(runID)+".lock", flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryRLock()
	return err == nil && !free
}

// ThisProcess returns the name of this process as a driver.
func ThisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

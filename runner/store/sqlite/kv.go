// The key-value storage of the file, its transactions, and the locks of runs.

package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/graphrun/graphrun/runner/store"
)

// transaction implements store.Tx.
type transaction struct {
	*sql.Tx
	putEvent *sql.Stmt // nil if the transaction only reads
}

// afterKeys is greater than any character of a key.
const afterKeys = "\x7f"

// locateKey returns the table of a key and the key in that table. Events have a table with numbers as
// keys, so that an append writes one page.
func locateKey(key string) (table string, at any) {
	rest, isEvent := strings.CutPrefix(key, store.EventKeys)
	if !isEvent {
		return "kv", key
	}
	run, event, _ := strings.Cut(rest, "/")
	number, _ := strconv.ParseInt(run, 10, 64)
	if event == afterKeys {
		return "events", (number + 1) << 32
	}
	n, _ := strconv.ParseInt(event, 10, 64)
	return "events", number<<32 + n
}

func rowKey(at any) string {
	if id, isEvent := at.(int64); isEvent {
		return fmt.Sprintf("%s%010d/%010d", store.EventKeys, id>>32, id&(1<<32-1))
	}
	key, _ := at.(string)
	return key
}

// Get returns the value of a key.
func (tx transaction) Get(key string) (value []byte, err error) {
	err = tx.QueryRow(`SELECT value FROM kv WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Put stores a value.
func (tx transaction) Put(key string, value []byte) (err error) {
	if table, at := locateKey(key); table == "events" {
		_, err = tx.putEvent.Exec(at, value)
	} else {
		_, err = tx.Exec(`INSERT INTO kv (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`, key, append([]byte{}, value...))
	}
	return err
}

// Delete removes a key.
func (tx transaction) Delete(key string) error {
	_, err := tx.Exec(`DELETE FROM kv WHERE key = ?`, key)
	return err
}

// DeleteAll removes the keys that begin with prefix.
func (tx transaction) DeleteAll(prefix string) error {
	table, from := locateKey(prefix)
	_, to := locateKey(prefix + afterKeys)
	_, err := tx.Exec(`DELETE FROM `+table+` WHERE key >= ? AND key < ?`, from, to)
	return err
}

// Scan visits the pairs whose keys begin with prefix.
func (tx transaction) Scan(prefix, after string, visit func(p store.Pair) bool) error {
	table, from := locateKey(max(prefix, after))
	_, to := locateKey(prefix + afterKeys)
	rows, err := tx.Query(`SELECT key, value FROM `+table+` WHERE key >= ? AND key < ? ORDER BY key`, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var at any
		var value sql.RawBytes
		if err := rows.Scan(&at, &value); err != nil {
			return err
		}
		if p := (store.Pair{Key: rowKey(at), Value: value}); p.Key != after && !visit(p) {
			return nil
		}
	}
	return rows.Err()
}

// Last returns the last pair up to a limit.
func (tx transaction) Last(prefix, limit string) (p store.Pair, err error) {
	table, from := locateKey(prefix)
	_, to := locateKey(limit)
	var at any
	err = tx.QueryRow(`SELECT key, value FROM `+table+` WHERE key >= ? AND key <= ? ORDER BY key DESC LIMIT 1`, from, to).Scan(&at, &p.Value)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Pair{}, nil
	}
	p.Key = rowKey(at)
	return p, err
}

// kv implements store.KV for a file.
type kv struct{ *Store }

// View runs a transaction that only reads.
func (s kv) View(do func(tx store.Tx) error) error {
	tx, err := s.reader.Begin()
	if err != nil {
		return s.wrapError(err)
	}
	defer tx.Rollback()
	return s.wrapError(do(transaction{Tx: tx}))
}

// Update runs a transaction.
func (s kv) Update(do func(tx store.Tx) error) error {
	return s.retryWrite(func(tx *sql.Tx) error { return do(transaction{tx, tx.Stmt(s.putEvent)}) })
}

// retryBusy is the delay before retryWrite tries again.
const retryBusy = 200 * time.Microsecond

// retryWrite runs a transaction that writes. While the file is locked, it retries at short intervals,
// because SQLite's own waits miss the gaps between commits.
func (s *Store) retryWrite(do func(tx *sql.Tx) error) error {
	if s.writer == nil {
		return s.wrapError(errReadOnly)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	for end := time.Now().Add(s.opts.Busy); ; time.Sleep(retryBusy) {
		if err := s.commit(do); !isBusy(err) || time.Now().After(end) {
			return s.wrapError(cmp.Or(s.checkFile(), err))
		}
	}
}

func (s *Store) commit(do func(tx *sql.Tx) error) error {
	tx, err := s.writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

var errReadOnly = errors.New("it was opened for reading only")

// Now returns the time.
func (s kv) Now() time.Time { return s.opts.Now() }

// CheckStorage returns an error if the file was deleted, replaced or emptied.
func (s kv) CheckStorage() error { return s.wrapError(s.checkFile()) }

// lockPatience covers the moment in which IsLocked holds the lock to test it.
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
		_ = os.Remove(lock.Path())               // fails on Windows, since the file is open
		_ = os.Remove(filepath.Dir(lock.Path())) // fails unless the folder is empty
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

// isLockedAt reports whether the locked file still exists at its path, since a release removes it.
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
	host, _ := os.Hostname()
	return fmt.Sprintf("process %d on %s", os.Getpid(), cmp.Or(host, "this machine"))
}

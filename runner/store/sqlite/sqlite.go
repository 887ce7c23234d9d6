// Package sqlite keeps the journals of runs in one SQLite file. Several processes may use it at
// once: many read, and one writes at a time. The process that holds the lock of a run drives it.
package sqlite

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/store"
)

// Durability says when a commit is complete.
type Durability string

// The durabilities. The zero value means Full. With all of them, a killed process loses nothing.
const (
	// Full waits until the disk has the commit.
	Full Durability = "full"
	// Normal may lose the latest commits when the power fails.
	Normal Durability = "normal"
	// Off may lose the file when the power fails.
	Off Durability = "off"
)

// Options configure a Store. The zero value is what graphrun uses.
type Options struct {
	Durability Durability
	// Owner is the name of drivers. The default is ThisProcess().
	Owner string
	// PollInterval is the interval at which a driver reads requests; 0 means 0.3 s, negative never.
	PollInterval time.Duration
	// Busy is how long a write waits for writes of other processes. The default is 10 s.
	Busy time.Duration
	// Now returns the time. The default is time.Now.
	Now func() time.Time
	// ReadOnly opens an existing file and never writes to it.
	ReadOnly bool
}

// Store is a store.Store in a file. It is safe for concurrent use.
type Store struct {
	store.KVStore
	path   string
	opts   Options
	reader *sql.DB
	file   fs.FileInfo // the file that was opened for writing

	writing  sync.Mutex // guards the fields below
	writer   *sql.DB    // has one connection; nil if read-only
	putEvent *sql.Stmt
}

// Open opens the store in a file. Unless Options.ReadOnly is set, it creates a missing file, which only
// its owner can read. It does not change a file that is damaged (ErrCorrupt), of another version
// (ErrNewer, ErrOlder) or not a store (ErrNotAStore).
func Open(path string, opts Options) (*Store, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	s := &Store{path: abs, opts: opts}
	s.KV, s.Owner, s.Poll = kv{s}, opts.Owner, max(0, opts.PollInterval)
	if err := s.openFile(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("store %s: %w", path, describeError(err))
	}
	return s, nil
}

func (o *Options) setDefaults() error {
	switch o.Durability = cmp.Or(o.Durability, Full); o.Durability {
	case Full, Normal, Off:
	default:
		return fmt.Errorf("durability %q is none of: full, normal, off", o.Durability)
	}
	o.Busy, o.PollInterval = cmp.Or(o.Busy, 10*time.Second), cmp.Or(o.PollInterval, 300*time.Millisecond)
	o.Owner = cmp.Or(o.Owner, ThisProcess())
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// openFile checks the file through a read-only connection before it opens it for writing.
func (s *Store) openFile() error {
	fresh, err := s.makeFile()
	if err != nil {
		return err
	}
	s.reader = openDB(s.path, url.Values{"mode": {"ro"}, "_pragma": {busyPragma(s.opts), "query_only(1)"}})
	s.reader.SetMaxOpenConns(maxReaders)
	s.reader.SetMaxIdleConns(maxReaders)
	version := 0
	if !fresh {
		if version, err = s.readVersion(); errors.Is(describeError(err), ErrUnfinished) && !s.opts.ReadOnly {
			if err = s.rollBackUnfinished(); err == nil {
				version, err = s.readVersion()
			}
		}
		if err != nil {
			return err
		}
	}
	if s.opts.ReadOnly {
		if version == 0 {
			return fmt.Errorf("%w: it has no tables yet; a command that writes makes them", ErrOlder)
		}
		return nil
	}
	if s.writer, err = openWriter(s.path, s.opts); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if version == 0 {
		if err := s.makeTables(); err != nil {
			return err
		}
	}
	s.putEvent, err = s.writer.Prepare(`INSERT INTO events (key, value) VALUES (?, ?)`)
	return err
}

// checkFile returns an error if the file was moved, replaced or emptied.
func (s *Store) checkFile() error {
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.file):
		return ErrGone
	case err == nil && now.Size() == 0:
		return ErrEmptied
	}
	return nil
}

// rollBackUnfinished rolls back a killed process's change: SQLite does so when a writer opens the file.
func (s *Store) rollBackUnfinished() error {
	db := openDB(s.path, url.Values{"mode": {"rw"}, "_pragma": {busyPragma(s.opts)}})
	var tables int
	return errors.Join(db.QueryRow(`SELECT count(*) FROM sqlite_schema`).Scan(&tables), db.Close())
}

// makeFile creates a missing file and its folder, and reports whether the file is empty. It must
// not open an existing file: closing it would drop SQLite's locks.
func (s *Store) makeFile() (fresh bool, err error) {
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.IsDir():
		return false, errors.New("it is a folder; a file is needed")
	case err == nil && !info.Mode().IsRegular(): // leave its permissions alone
		return false, errors.New("it is a device, a pipe or a socket; a regular file is needed")
	case err == nil:
		return info.Size() == 0, s.makePrivate(info.Mode().Perm())
	case !errors.Is(err, fs.ErrNotExist) || s.opts.ReadOnly:
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return false, err
	}
	// SQLite creates its other files with the same mode.
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// makePrivate makes files that may hold secrets private to their owner.
func (s *Store) makePrivate(mode fs.FileMode) error {
	const others = 0o077
	if mode&others == 0 || runtime.GOOS == "windows" {
		return nil
	}
	for _, path := range []string{s.path, s.path + "-wal", s.path + "-shm"} {
		err := os.Chmod(path, mode&^others)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("others may use it (mode %04o), and that can't be taken from them: %w; chmod 600, or another file, is needed", mode, err)
		}
	}
	return nil
}

// Close closes the store, and journals that are still open.
func (s *Store) Close() error {
	failed := s.KVStore.Close()
	// Close readers first: the last connection to close moves the log into the file, if it can write.
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			failed = errors.Join(failed, s.wrapError(db.Close()))
		}
	}
	return failed
}

// Delete deletes a run and its folders.
func (s *Store) Delete(runID string) error {
	return s.DeleteThen(runID, func() error {
		dir := s.RunDir(runID)
		return errors.Join(process.KillLeftovers(dir+".tasks"), os.RemoveAll(dir))
	})
}

// RunDir returns the path of a run's folder beside the file: in runs.db.d for runs.db.
func (s *Store) RunDir(runID string) string {
	name := runID
	if !filepath.IsLocal(name) || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) || len(name) > 100 {
		sum := sha256.Sum256([]byte(runID))
		name = fmt.Sprintf("run.%x", sum[:16]) // names that are ids have no dot
	}
	return filepath.Join(s.path+".d", name)
}

// wrapError names the file and describes SQLite's errors. Errors about a run stay unchanged.
func (s *Store) wrapError(err error) error {
	if err == nil || errors.Is(err, store.ErrNoRun) || errors.Is(err, store.ErrRunExists) || errors.Is(err, store.ErrNoSession) {
		return err
	}
	return fmt.Errorf("store %s: %w", s.path, describeError(err))
}

// maxReaders bounds the read connections of a process.
const maxReaders = 4

// openDB returns a pool of connections to a file, without opening one.
func openDB(path string, query url.Values) *sql.DB {
	// A path of the form C:\x becomes file:///C:/x.
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	source := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		panic(err) // the driver is not registered
	}
	return db
}

func busyPragma(o Options) string { return fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()) }

// openWriter opens the connection that writes. It never waits for locks, since retryWrite does.
func openWriter(path string, o Options) (*sql.DB, error) {
	db := openDB(path, url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(0)", "journal_mode(WAL)", fmt.Sprintf("synchronous(%s)", o.Durability)},
	})
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(0)
	for end := time.Now().Add(o.Busy); ; time.Sleep(time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return db, nil
		}
		if !isBusy(err) || time.Now().After(end) {
			_ = db.Close()
			return nil, err
		}
	}
}

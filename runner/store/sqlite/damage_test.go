package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// filled makes a closed store with a run of n events, and returns its path.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{Durability: sqlite.Off})
	if err := create(t, s, "one").Append(events(0, n)...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// bareExec changes a file behind the store's back.
func bareExec(t *testing.T, path, text string) {
	t.Helper()
	db := sqlite.OpenBare(path, sqlite.Full)
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// Unusable files are refused with a clear error and left unchanged.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"text", func(t *testing.T, path string) {
			write(t, path, []byte(strings.Repeat("this is no database\n", 500)))
		}, sqlite.ErrNotAStore},
		{"another database", func(t *testing.T, path string) {
			write(t, path, nil)
			bareExec(t, path, `CREATE TABLE bookmarks (url TEXT)`)
		}, sqlite.ErrNotAStore},
		{"a newer store", func(t *testing.T, path string) {
			copyFile(t, filled(t, 1), path)
			bareExec(t, path, `PRAGMA user_version = 999`)
		}, sqlite.ErrNewer},
		{"a store of an older version", func(t *testing.T, path string) {
			write(t, path, nil)
			bareExec(t, path, `CREATE TABLE runs (id TEXT); PRAGMA application_id = 1735552561; PRAGMA user_version = 4`)
		}, sqlite.ErrOlder},
		{"a version below zero", func(t *testing.T, path string) {
			copyFile(t, filled(t, 1), path)
			bareExec(t, path, `PRAGMA user_version = -5`)
		}, sqlite.ErrNotAStore},
		{"half a file", func(t *testing.T, path string) {
			text := read(t, filled(t, 300))
			write(t, path, text[:len(text)/2])
		}, sqlite.ErrCorrupt},
		{"a broken first page", func(t *testing.T, path string) {
			text := read(t, filled(t, 300))
			copy(text[100:], make([]byte, 3000))
			write(t, path, text)
		}, sqlite.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			c.make(t, path)
			before := read(t, path)
			for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
				s, err := sqlite.Open(path, o)
				if err == nil {
					_ = s.Close()
				}
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("opening it (%+v) gives %v, want %v", o.ReadOnly, err, c.want)
				}
			}
			if !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlite.Open(filepath.Join(dir, "none.db"), sqlite.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading what is not there gives %v", err)
	}
	if _, err := sqlite.Open(dir, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder gives %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something was made: %v, %v", left, err)
	}
	if _, err := sqlite.Open(filepath.Join(dir, "x.db"), sqlite.Options{Durability: "fast"}); err == nil || !strings.Contains(err.Error(), "full, normal, off") {
		t.Errorf("a durability that is none gives %v", err)
	}
}

// Other users can't read the data of runs.
func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	dir := filepath.Join(t.TempDir(), "a b?#%", "state")
	s := open(t, filepath.Join(dir, "runs.db"), sqlite.Options{})
	create(t, s, "one")
	for name, want := range map[string]fs.FileMode{"": 0o700, "runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	path := filled(t, 3)
	s := open(t, path, sqlite.Options{ReadOnly: true})
	if list, err := s.Events("one", 0, math.MaxInt); err != nil || len(list) != 3 {
		t.Errorf("%d events, %v", len(list), err)
	}
	_, created := s.Create(store.RunRecord{ID: "two"})
	_, opened := s.Open("one", "x")
	_, cleared := s.ClearCache("", nil)
	for what, err := range map[string]error{
		"create": created, "open": opened, "delete": s.Delete("one"), "cache": s.SaveCached(store.CacheEntry{Key: "k"}), "clear": cleared,
	} {
		if err == nil || !strings.Contains(err.Error(), "reading only") {
			t.Errorf("%s gives %v", what, err)
		}
	}
}

// Several processes that start at once make one file.
func TestFirstOpenings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "runs.db")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s, err := sqlite.Open(path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			journal, err := s.Create(store.RunRecord{ID: string(rune('a' + i))})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(journal.Append(events(0, 1)[0]), journal.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := open(t, path, sqlite.Options{}).List(store.RunFilter{}); err != nil || len(list) != 8 {
		t.Errorf("%d runs, %v", len(list), err)
	}
}

// A damaged page is found when it is read.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	path := filled(t, 300)
	text := read(t, path)
	for page := 40; page < 60; page++ { // behind the roots of all tables
		copy(text[page*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	}
	write(t, path, text)
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Events("one", 0, math.MaxInt); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("reading gives %v", err)
	}
	if err := s.CheckIntegrity(t.Context()); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("checking gives %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A log that was cut or overwritten at any place holds a prefix of the data: without gaps, in
// order.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, source, sqlite.Options{Durability: sqlite.Off})
	journal := create(t, s, "one")
	for _, e := range events(0, 120) {
		if err := journal.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	// Reading the files beside an open store would drop its locks; this test
	// has no use for them any more.
	file, log := read(t, source), read(t, source+"-wal")
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 / slowdown {
		path := filepath.Join(t.TempDir(), "runs.db")
		write(t, path, file)
		cut := bytes.Clone(log)
		at := random.IntN(len(cut))
		if random.IntN(2) == 0 {
			cut = cut[:at]
		} else {
			cut[at] ^= 0x55
		}
		write(t, path+"-wal", cut)
		s, err := sqlite.Open(path, sqlite.Options{Durability: sqlite.Off})
		if err != nil {
			t.Fatalf("a log with damage at %d: %v", at, err)
		}
		list, err := s.Events("one", 0, math.MaxInt)
		if err != nil && !errors.Is(err, store.ErrNoRun) {
			t.Errorf("a log with damage at %d: %v", at, err)
		}
		for i, e := range list {
			if e.At != int64(i) {
				t.Errorf("a log with damage at %d: event %d is %d", at, i, e.At)
			}
		}
		if err := errors.Join(s.CheckIntegrity(t.Context()), s.Close()); err != nil {
			t.Errorf("a log with damage at %d: %v", at, err)
		}
	}
}

// A full disk stops the journal and does not damage it.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{})
	journal := create(t, s, "one")
	s.LimitPages(t, 40)
	kept := 0
	var err error
	for ; err == nil && kept < 10000; kept++ {
		err = journal.Append(events(kept, 1)[0])
	}
	kept--
	if !errors.Is(err, sqlite.ErrFull) {
		t.Fatalf("a full disk gives %v", err)
	}
	s.LimitPages(t, 1000)
	if again := journal.Append(events(kept, 1)[0]); !errors.Is(again, sqlite.ErrFull) {
		t.Errorf("a journal goes on after an error: %v", again)
	}
	if list, err := s.Events("one", 0, math.MaxInt); err != nil || len(list) != kept {
		t.Errorf("%d events are left, want %d (%v)", len(list), kept, err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := s.Open("one", "next")
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Append(events(kept, 1)[0]); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A file that others keep locked is waited for, then given up.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filled(t, 1)
	s := open(t, path, sqlite.Options{Busy: 50 * time.Millisecond})
	other := sqlite.OpenBare(path, sqlite.Full)
	defer other.Close()
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open("one", "x"); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("a locked file gives %v", err)
	}
	if list, err := s.Events("one", 0, math.MaxInt); err != nil || len(list) != 1 {
		t.Errorf("reading a locked file: %d events, %v", len(list), err)
	}
	if _, err := other.Exec(`COMMIT`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open("one", "x"); err != nil {
		t.Errorf("a file that is free again: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	write(t, to, read(t, from))
}

// A process was killed while it changed the file without its log, such as on creation: the next
// process rolls the change back.
func TestBrokenOffChange(t *testing.T) {
	dir := t.TempDir()
	made, path := filepath.Join(dir, "made.db"), filepath.Join(dir, "runs.db")
	db, err := sql.Open("sqlite", "file:"+made+"?_pragma=journal_mode(DELETE)&_pragma=cache_size(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"CREATE TABLE t (x)", "BEGIN", "DROP TABLE t", "CREATE TABLE u (x)", "INSERT INTO u VALUES (randomblob(100000))", "INSERT INTO u VALUES (randomblob(100000))"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, made, path)
	copyFile(t, made+"-journal", path+"-journal")
	if _, err := sqlite.Open(path, sqlite.Options{ReadOnly: true}); !errors.Is(err, sqlite.ErrUnfinished) {
		t.Errorf("reading it gives %v, want ErrUnfinished", err)
	}
	// It is none of graphrun's files, which shows when the change is taken back.
	if _, err := sqlite.Open(path, sqlite.Options{}); !errors.Is(err, sqlite.ErrNotAStore) {
		t.Errorf("opening it gives %v, want ErrNotAStore", err)
	}
	if _, err := os.Stat(path + "-journal"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the change was not taken back", err)
	}
}

// A file that others can read is closed to them when it is opened.
func TestOthersLoseAccess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	if err := open(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		open(t, path, sqlite.Options{ReadOnly: readOnly})
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("read-only %t: the mode is %v, %v", readOnly, info.Mode(), err)
		}
	}
}

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// A note that is not urgent is written, too.
func TestNotesAreWritten(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Durability: sqlite.Off})
	journal := create(t, s, "one", events(0, 1)...)
	for _, steps := range []int{0, 7} {
		if err := journal.SaveSummary(store.RunSummary{Status: machine.Running, Steps: steps}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		list, err := s.List(store.RunFilter{})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		if list[0].Steps == 7 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the note is not there: %+v", list[0])
		}
	}
}

// The locks of a killed driver are free at once. A suspended process keeps its run.
func TestLocksEndWithTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	d := startDriver(t, path, 0)
	for range 3 {
		d.readLine()
	}
	s := open(t, path, sqlite.Options{})
	var driven *store.DrivenError
	if _, err := s.Open("one", ""); !errors.As(err, &driven) || !strings.HasPrefix(driven.Owner, "process ") {
		t.Errorf("opening a run that another process drives gives %v", err)
	}
	_ = d.cmd.Process.Kill()
	d.finish()
	if list, err := s.List(store.RunFilter{}); err != nil || len(list) != 1 || list[0].Owner != "" || list[0].EffectiveStatus() != store.Crashed {
		t.Errorf("%+v, %v; want a run that crashed", list, err)
	}
	journal, err := s.Open("one", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.RunDir("one") + ".lock"); err == nil {
		t.Error("the lock of a run that nobody drives is still there")
	}
}

// The folder of a run has its name where every system takes it as one.
func TestRunDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{})
	for id, kept := range map[string]bool{
		"One-Two_3": true, "zAZ09": true, strings.Repeat("x", 100): true,
		strings.Repeat("x", 101): false, "a.b": false, "a/b": false, "..": false, "": false, "ü": false, "a b": false, "[": false, "{": false, "@": false, "`": false, ":": false,
	} {
		dir := s.RunDir(id)
		if (filepath.Base(dir) == id) != kept || filepath.Dir(dir) != path+".d" {
			t.Errorf("the folder of %q is %s", id, dir)
		}
	}
}

// A driver whose file was deleted gets one request to cancel, and its journal stops polling.
func TestFileThatVanishes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	journal := create(t, open(t, path, sqlite.Options{PollInterval: time.Millisecond, Durability: sqlite.Off}), "one", events(0, 1)...)
	if err := os.Rename(path, path+".elsewhere"); err != nil {
		t.Skip(err) // some systems keep it while it is open
	}
	got := <-journal.Requests()
	time.Sleep(20 * time.Millisecond) // for several looks
	if got != store.RequestCancel || len(journal.Requests()) > 0 {
		t.Errorf("the driver is asked to %s, and then %d times more", got, len(journal.Requests()))
	}
	if err := journal.Append(events(1, 1)[0]); err == nil {
		t.Error("an event was written to a file that is gone")
	}
}

// Two handles of one process are two drivers.
func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	one, two := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	create(t, one, "one", events(0, 1)...)
	var driven *store.DrivenError
	for _, owner := range []string{"", sqlite.ThisProcess(), "another"} {
		if _, err := two.Open("one", owner); !errors.As(err, &driven) || driven.Owner != sqlite.ThisProcess() {
			t.Errorf("opening a run of the other handle as %q gives %v", owner, err)
		}
	}
}

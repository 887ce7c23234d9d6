package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// A driver that says nothing for long, because its node takes hours, keeps its
// lease; what it noted is written meanwhile.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	o := sqlite.Options{Lease: time.Hour, Beat: time.Millisecond, Durability: sqlite.Off}
	s := open(t, path, o)
	journal := create(t, s, "one", events(0, 1)...)
	line := func() store.RunSummary {
		list, err := s.List(store.RunFilter{})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	first := line()
	if err := journal.Note(store.RunSummary{Status: machine.Running}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Note(store.RunSummary{Status: machine.Running, Steps: 7}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now := line()
		if now.Until.After(first.Until) && now.Steps == 7 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the lease holds until %s as at first, or the note is not there: %+v", first.Until, now)
		}
		runtime.Gosched()
	}
	// The driver learns by itself that its run was taken over.
	other := open(t, path, sqlite.Options{Dead: func(string) bool { return true }})
	if _, err := other.Open("one", "other"); err != nil {
		t.Fatal(err)
	}
	var leased *store.LeasedError
	if err := journal.Append(events(0, 1)[0]); !errors.As(err, &leased) || leased.Owner != "other" {
		t.Errorf("appending without the lease gives %v", err)
	}
	wantSilent(t, journal)
}

// wantSilent waits until a journal gives no more signs of life.
func wantSilent(t *testing.T, journal store.Journal) {
	t.Helper()
	select {
	case <-sqlite.Silent(journal):
	case <-time.After(time.Minute):
		t.Error("the journal still gives signs of life")
	}
}

// A journal that could not write gives no sign of life: others may take the run over
// once its lease runs out.
func TestNoSignOfLifeAfterFailure(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	began := time.Now().Add(time.Hour)
	clock.Store(began.UnixNano())
	s := open(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{
		Beat: 50 * time.Millisecond, Awake: unknown, Durability: sqlite.Off,
		Now: func() time.Time { return time.Unix(0, clock.Load()) },
	})
	journal := create(t, s, "one", events(0, 1)...)
	s.LimitPages(t, 1)
	var err error
	for i := 1; i < 10_000 && err == nil; i++ {
		err = journal.Append(events(i, 1)[0])
	}
	if err == nil {
		t.Fatal("the disk is never full")
	}
	clock.Add(int64(time.Minute))
	wantSilent(t, journal)
	list, err := s.List(store.RunFilter{})
	if err != nil || len(list) != 1 || list[0].Owner != "" || !list[0].Until.IsZero() {
		t.Errorf("%+v, %v; want a lease that has run out", list, err)
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

// A driver whose file is gone is asked to cancel, once: its journal looks for nothing
// more.
func TestFileThatVanishes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	journal := create(t, open(t, path, sqlite.Options{Beat: -1, Look: time.Millisecond, Durability: sqlite.Off}), "one", events(0, 1)...)
	if err := os.Rename(path, path+".elsewhere"); err != nil {
		t.Skip(err) // some systems keep it while it is open
	}
	wantSilent(t, journal)
	if got := <-journal.Asked(); got != store.RequestCancel || len(journal.Asked()) > 0 {
		t.Errorf("the driver is asked to %s, and then %d times more", got, len(journal.Asked()))
	}
	if err := journal.Append(events(1, 1)[0]); err == nil {
		t.Error("an event was written to a file that is gone")
	}
}

// The owner of a lease is a process: one that ended holds nothing.
func TestGone(t *testing.T) {
	self := sqlite.ThisProcess()
	if sqlite.Gone(self) {
		t.Errorf("this process is gone: %s", self)
	}
	for _, owner := range []string{"", "worker 1", "process 1", "process x on y", "process 999999999 on elsewhere (1 2 3)", "process -1 on x (a b c)"} {
		if sqlite.Gone(owner) {
			t.Errorf("%q is gone for certain", owner)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	// A process of this machine that has ended, and one that has the number of
	// another.
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other := sqlite.Named(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !sqlite.Gone(other) {
		t.Errorf("%s is not gone", other)
	}
	earlier := self[:strings.LastIndexByte(self, ' ')] + " 1)"
	if !sqlite.Gone(earlier) {
		t.Errorf("%s is not gone", earlier)
	}
}

// Two handles of one process are two drivers.
func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	one, two := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	create(t, one, "one", events(0, 1)...)
	var leased *store.LeasedError
	for _, owner := range []string{"", sqlite.ThisProcess(), "another"} {
		if _, err := two.Open("one", owner); !errors.As(err, &leased) || leased.Owner != sqlite.ThisProcess() {
			t.Errorf("opening a run of the other handle as %q gives %v", owner, err)
		}
	}
}

// unknown is that nothing tells for how long the machine has been awake.
func unknown() (string, time.Duration) { return "", 0 }

// A lease outlives the setting of the clock, by what is measured; where nothing is,
// the clock is all there is.
func TestLeasesWhenTheClockIsSet(t *testing.T) {
	for _, test := range []struct {
		name   string
		set    time.Duration
		passes time.Duration
		boot   string // of who looks
		held   bool
	}{
		{"forward", time.Hour, 0, "boot 1", true},
		{"back", -time.Hour, 0, "boot 1", true},
		{"forward, and its time passes", time.Hour, 15 * time.Second, "boot 1", false},
		{"back, and its time passes", -time.Hour, 15 * time.Second, "boot 1", false},
		{"forward, and nothing is measured", time.Hour, 0, "", false},
		{"the machine was started anew", time.Hour, 0, "boot 2", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			clock, awake, boot := time.Now(), time.Hour, "boot 1"
			o := sqlite.Options{
				Owner: "somebody", Beat: -1, Look: -1,
				Now:   func() time.Time { return clock },
				Awake: func() (string, time.Duration) { return boot, awake },
			}
			create(t, open(t, path, o), "one", events(0, 1)...)
			clock, awake, boot = clock.Add(test.set), awake+test.passes, test.boot
			other := open(t, path, o)
			list, err := other.List(store.RunFilter{})
			if err != nil || len(list) != 1 || (list[0].Owner != "") != test.held {
				t.Errorf("%+v, %v; held: want %v", list, err, test.held)
			}
			_, err = other.Open("one", "another")
			var leased *store.LeasedError
			if errors.As(err, &leased) != test.held || !test.held && err != nil {
				t.Errorf("opening gives %v; held: want %v", err, test.held)
			}
			if test.held && leased.Until.Sub(clock) > 15*time.Second {
				t.Errorf("held until %s, at %s", leased.Until, clock)
			}
		})
	}
}

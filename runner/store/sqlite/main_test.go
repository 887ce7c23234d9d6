// The test binary doubles as a driver in another process: with
// SQLITE_TEST_DRIVER set to the path of a store it appends events to a run
// until it is killed or fails.

package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

const (
	driverEnv = "SQLITE_TEST_DRIVER"
	eventsEnv = "SQLITE_TEST_EVENTS" // how many to append; 0: no end
	stepsEnv  = "SQLITE_TEST_STEPS"  // how many steps a run takes, instead of appending
)

func TestMain(m *testing.M) {
	if path := os.Getenv(rightsEnv); path != "" {
		tryRights(path)
		os.Exit(0)
	}
	if path := os.Getenv(driverEnv); path != "" {
		if steps, err := strconv.Atoi(os.Getenv(stepsEnv)); err == nil {
			if err := walk(path, steps); err != nil {
				fmt.Println("error", err)
			}
			os.Exit(0)
		}
		limit, _ := strconv.Atoi(os.Getenv(eventsEnv))
		if err := drive(path, limit); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// rightsEnv makes the test binary open the store at a path, and say how that went.
const rightsEnv = "SQLITE_TEST_RIGHTS"

func tryRights(path string) {
	for _, readOnly := range []bool{false, true} {
		s, err := sqlite.Open(path, sqlite.Options{ReadOnly: readOnly})
		if err == nil && !readOnly {
			_, err = s.Create(store.RunRecord{ID: "two", Graph: "g"}, events(0, 1)...)
		}
		fmt.Println(readOnly, err)
	}
}

// walk runs a graph of pure steps.
func walk(path string, steps int) error {
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err
	}
	run, err := newStepper(s)
	if err != nil {
		return err
	}
	return errors.Join(run("one", steps, 1<<10), s.Close())
}

// drive continues run "one" and prints the number of events after each acknowledgement. Every
// seventh time it appends three at once.
func drive(path string, limit int) (err error) {
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	journal, err := s.Create(store.RunRecord{ID: "one", Graph: "g", Source: []byte("x")})
	if errors.Is(err, store.ErrRunExists) {
		journal, err = s.Open("one", "")
	}
	if err != nil {
		return err
	}
	list, err := s.Events("one", 0, math.MaxInt)
	if err != nil && !errors.Is(err, store.ErrNoRun) {
		return err
	}
	fmt.Println("began", len(list))
	for n := len(list); limit == 0 || n < limit; {
		batch := events(n, 1)
		if n%7 == 0 {
			batch = events(n, 3)
			err = journal.Append(batch...)
		} else {
			err = journal.Append(batch[0])
		}
		if err != nil {
			return err
		}
		n += len(batch)
		fmt.Println("kept", n)
	}
	return nil
}

// events returns numbered events of different sizes.
func events(from, count int) []machine.Event {
	out := make([]machine.Event, count)
	for i := range out {
		n := from + i
		out[i] = machine.Event{Kind: machine.TaskEnded, At: int64(n), Output: strings.Repeat("x", n*n%5000)}
	}
	return out
}

// driver is a process that drives run "one".
type driver struct {
	cmd    *exec.Cmd
	stdout *bufio.Scanner
	kept   int // events that were acknowledged
	err    string
}

// startDriver starts a process; args come before the program: a tracer.
func startDriver(t *testing.T, path string, limit int, args ...string) *driver {
	t.Helper()
	args = append(args, os.Args[0])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), driverEnv+"="+path, fmt.Sprintf("%s=%d", eventsEnv, limit), "GORACE=atexit_sleep_ms=0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &driver{cmd: cmd, stdout: bufio.NewScanner(stdout)}
}

// readLine reads a line and reports whether there was one.
func (d *driver) readLine() bool {
	if !d.stdout.Scan() {
		return false
	}
	what, rest, _ := strings.Cut(d.stdout.Text(), " ")
	if n, err := strconv.Atoi(rest); err == nil && (what == "kept" || what == "began") {
		d.kept = n
	} else {
		d.err += d.stdout.Text()
	}
	return true
}

// finish reads the rest of the output and waits for the end.
func (d *driver) finish() {
	for d.readLine() {
	}
	_ = d.cmd.Wait()
}

// checkStore checks that a file is sound and that run "one" has all events that
// were acknowledged, and at most the three that were being written besides.
func checkStore(t *testing.T, path string, kept int) (events int) {
	t.Helper()
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
	list, err := s.Events("one", 0, math.MaxInt)
	if errors.Is(err, store.ErrNoRun) && kept == 0 {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < kept || len(list) > kept+3 {
		t.Errorf("%d events, %d were acknowledged", len(list), kept)
	}
	for i, e := range list {
		if e.At != int64(i) || len(e.Output.(string)) != i*i%5000 {
			t.Fatalf("event %d is %d with %d bytes", i, e.At, len(e.Output.(string)))
		}
	}
	return len(list)
}

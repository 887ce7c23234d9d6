package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

const napping = `graphrun: v1
name: napping
start: first
state: {seen: {type: array, items: {type: string}, default: [], reducer: append}}
nodes:
  first: {kind: set, set: {seen: [first]}}
  nap: {kind: exec, command: [sh, -c, ": > %[1]s.began; while [ ! -e %[1]s ]; do sleep 0.02; done; echo up"], timeout: 60s}
  last: {kind: set, set: {seen: [last]}}
edges: [{from: first, to: nap}, {from: nap, to: last}, {from: last, to: END}]
`

const asking = `graphrun: v1
name: asking
start: ok
nodes: {ok: {kind: human, prompt: "Go on?", timeout: %s, default: nobody}}
edges: [{from: ok, to: END}]
`

// yard is a fleet of a test, and the flow that it runs.
type yard struct {
	*Fleet
	flow  *runner.Flow
	store store.Store
	marks string
}

func newYard(t *testing.T, kept store.Store, marks, text string) *yard {
	t.Helper()
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{}), Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		t.Fatal(err)
	}
	f := New(Config{Runner: r, Store: kept, Marks: marks, Home: "home", Max: 2, Log: func(line string) { t.Log(line) }})
	t.Cleanup(func() { f.Stop(time.Second) })
	return &yard{f, flow, kept, marks}
}

// waitForStatus waits until a run that nobody drives has a status.
func (y *yard) waitForStatus(t *testing.T, id string, status machine.Status) *runner.Result {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		result, err := y.cfg.Runner.Show(id, runner.Options{})
		if err == nil && result.Status == status && y.FindDrive(id) == nil {
			return result
		}
		if time.Now().After(end) {
			t.Fatalf("run %s is %v (%v), not %s", id, result.Status, err, status)
		}
	}
}

// waitForNap waits until a run of the flow napping executes its slow node.
func waitForNap(t *testing.T, wake string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(wake + ".began"); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the run does not come to its nap")
		}
	}
}

func (y *yard) tending(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- y.ResumeRuns(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// TestTakenUp: the next process continues stopped runs, and executes each step once.
func TestTakenUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		grace time.Duration
		wake  bool // the node ends within the grace
		want  machine.Status
	}{
		{"ends in time", 10 * time.Second, true, machine.Paused},
		{"does not end in time", 20 * time.Millisecond, false, machine.Cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, dir := &store.Memory{}, t.TempDir()
			wake := filepath.Join(dir, "wake")
			text := fmt.Sprintf(napping, wake)
			first := newYard(t, kept, filepath.Join(dir, "marks"), text)
			if _, err := first.Start(first.flow, runner.Options{RunID: "r"}); err != nil {
				t.Fatal(err)
			}
			waitForNap(t, wake)
			if c.wake {
				time.AfterFunc(50*time.Millisecond, func() { _ = os.WriteFile(wake, nil, 0o600) })
			}
			first.Stop(c.grace)
			first.waitForStatus(t, "r", c.want)
			if _, err := first.Start(first.flow, runner.Options{}); !errors.Is(err, ErrClosing) {
				t.Errorf("a fleet that stops takes work: %v", err)
			}
			if err := os.WriteFile(wake, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			other := newYard(t, kept, filepath.Join(dir, "marks"), text)
			other.cfg.Home, other.marks = "elsewhere", ""
			other.Fleet.marks.home = "elsewhere"
			other.tending(t)
			second := newYard(t, kept, filepath.Join(dir, "marks"), text)
			second.tending(t)
			result := second.waitForStatus(t, "r", machine.Completed)
			if got := fmt.Sprint(result.Path, result.State["seen"]); got != "[first nap last] [first last]" {
				t.Errorf("the run went %s", got)
			}
			if left, err := second.Fleet.marks.list(); err != nil || len(left) != 0 {
				t.Errorf("left: %v %v", left, err)
			}
		})
	}
}

// TestDue: a run that waits for a person continues when the question times out, and when another
// process has answered.
func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, want string
		answer        bool
	}{"time": {"300ms", "nobody", false}, "answer": {"1h", "yes", true}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, &store.Memory{}, t.TempDir(), fmt.Sprintf(asking, c.timeout))
			y.tending(t)
			d, err := y.Start(y.flow, runner.Options{RunID: "r"})
			if err != nil {
				t.Fatal(err)
			}
			<-d.Done
			if c.answer {
				if _, err := y.cfg.Runner.Answer(context.Background(), "r", []store.GivenAnswer{{Target: "ok", Text: "yes"}}, "Ada"); err != nil {
					t.Fatal(err)
				}
			}
			if result := y.waitForStatus(t, "r", machine.Completed); result.Output != c.want {
				t.Errorf("the answer is %v", result.Output)
			}
		})
	}
}

// TestFull: no more runs are driven than may be, and none of them twice.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	wake := filepath.Join(dir, "wake")
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(napping, wake))
	for _, id := range []string{"a", "b"} {
		if _, err := y.Start(y.flow, runner.Options{RunID: id}); err != nil {
			t.Fatal(err)
		}
	}
	var driven *store.DrivenError
	if _, err := y.Resume("a", runner.Options{}); !errors.As(err, &driven) {
		t.Errorf("a run is driven twice: %v", err)
	}
	var full *FullError
	if _, err := y.Start(y.flow, runner.Options{}); !errors.As(err, &full) {
		t.Errorf("a third run: %v", err)
	}
	if err := os.WriteFile(wake, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	y.waitForStatus(t, "a", machine.Completed)
	y.waitForStatus(t, "b", machine.Completed)
	d, err := y.Start(y.flow, runner.Options{RunID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	if _, err := y.Start(y.flow, runner.Options{RunID: "c"}); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("a run of the same id: %v", err)
	}
	if len(y.drives) != 0 {
		t.Errorf("left: %d drives", len(y.drives))
	}
}

package runner_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const snapshotHeader = "graphrun: v1\nname: t\nstart: a\n"

// workKind returns a node kind for tests. The key `do` names its handler.
func workKind(handlers map[string]runner.HandlerFunc) runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "work", Keys: []spec.Key{
			{Name: "do", Type: spec.TypeString, Role: spec.RoleTemplate, Required: true, Doc: "What to do."},
			{Name: "with", Type: spec.TypeAny, Role: spec.RoleTemplate, Doc: "What to do it with."},
		}},
		Handler: runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			return handlers[task.Config["do"].(string)](ctx, task)
		}),
	}
}

// prepareFlow prepares a flow for a runner with a configuration. The text lacks the head of
// the file.
func prepareFlow(tb testing.TB, cfg runner.Config, text string) *runner.Flow {
	tb.Helper()
	r, err := runner.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	g, found := spec.Parse("flow.yaml", []byte(snapshotHeader+text), spec.Options{Kinds: r.Kinds()})
	if found = append(found, spec.Check(g)...); found.HasErrors() {
		tb.Fatalf("%s: %s", found[0].Rule, found[0].Message)
	}
	f, err := r.Prepare(g)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// run runs a flow of work nodes.
func run(tb testing.TB, text string, handlers map[string]runner.HandlerFunc, opts runner.Options) *runner.Result {
	tb.Helper()
	return runPrepared(tb, prepareFlow(tb, runner.Config{Kinds: []runner.Kind{workKind(handlers)}}, text), opts)
}

// runPrepared runs a prepared flow, and ends the test on an error.
func runPrepared(tb testing.TB, f *runner.Flow, opts runner.Options) *runner.Result {
	tb.Helper()
	result, err := f.Run(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

// wantResult compares the status, path and error kind of a result. An empty kind means no error.
func wantResult(tb testing.TB, got *runner.Result, status machine.Status, path, kind string) {
	tb.Helper()
	gotKind := ""
	if got.Error != nil {
		gotKind = got.Error.Kind
	}
	if p := strings.Join(got.Path, " "); got.Status != status || p != path || gotKind != kind {
		tb.Errorf("status %s, path %q, error %q (%v); want %s, %q, %q", got.Status, p, gotKind, got.Error, status, path, kind)
	}
	if got.Steps != len(got.Path) {
		tb.Errorf("%d steps, but the path is %v", got.Steps, got.Path)
	}
}

// recorder is a sink that keeps its events.
type recorder struct {
	mu     sync.Mutex
	events []runner.Event
}

func (r *recorder) Event(e *runner.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := *e
	kept.From, kept.Next, kept.Candidates = slices.Clone(e.From), slices.Clone(e.Next), slices.Clone(e.Candidates)
	r.events = append(r.events, kept)
	return nil
}

func (r *recorder) ofType(kind runner.EventType) []runner.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e runner.Event) bool { return e.Type != kind })
}

// fakeClock stands still until a test moves it.
type fakeClock struct {
	mu     sync.Mutex
	moved  sync.Cond
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	at time.Time
	in time.Duration
	f  func()
}

func newFakeClock() *fakeClock {
	c := &fakeClock{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.moved.L = &c.mu
	return c
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d <= 0 { // as a real clock does
		go f()
		return func() bool { return false }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &fakeTimer{at: c.now.Add(d), in: d, f: f}
	c.timers = append(c.timers, timer)
	c.moved.Broadcast()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, timer)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// fire waits until a timer of that duration is set, moves the clock to its end, and fires all due
// timers in order.
func (c *fakeClock) fire(d time.Duration) {
	c.mu.Lock()
	at := -1
	for at < 0 {
		at = slices.IndexFunc(c.timers, func(t *fakeTimer) bool { return t.in == d })
		if at < 0 {
			c.moved.Wait()
		}
	}
	c.now = c.timers[at].at
	var due []*fakeTimer
	c.timers = slices.DeleteFunc(c.timers, func(t *fakeTimer) bool {
		if t.at.After(c.now) {
			return false
		}
		due = append(due, t)
		return true
	})
	c.mu.Unlock()
	slices.SortStableFunc(due, func(a, b *fakeTimer) int { return a.at.Compare(b.at) })
	for _, t := range due {
		t.f()
	}
}

// startFlow runs a flow in the background. The function that it returns waits for the result.
func startFlow(tb testing.TB, ctx context.Context, f *runner.Flow, opts runner.Options) func() *runner.Result {
	tb.Helper()
	type outcome struct {
		result *runner.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := f.Run(ctx, opts)
		done <- outcome{result, err}
	}()
	return func() *runner.Result {
		tb.Helper()
		o := <-done
		if o.err != nil {
			tb.Fatal(o.err)
		}
		return o.result
	}
}

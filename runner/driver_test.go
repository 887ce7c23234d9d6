package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// waitUntilCancelled returns a handler that sends its node to runs and then waits until its
// context is cancelled.
func waitUntilCancelled(runs chan<- string) runner.HandlerFunc {
	return func(ctx context.Context, task *runner.Task) (any, error) {
		runs <- task.Node
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func TestCancelWhileRunning(t *testing.T) {
	runs := make(chan string, 1)
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"hang": waitUntilCancelled(runs)})}}, `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: 1}}, b: {kind: work, do: hang, retry: {max_attempts: 3}}}
edges: [{from: a, to: b}, {from: b, to: END}]`)
	ctx, cancel := context.WithCancel(context.Background())
	events := &recorder{}
	end := startFlow(t, ctx, f, runner.Options{Sink: events})
	<-runs
	cancel()
	got := end()
	wantResult(t, got, machine.Cancelled, "a", "")
	if got.Reason != "cancelled" || got.Quality != machine.FailedQuality || got.State["n"] != 1 {
		t.Errorf("reason %s, quality %s, state %v", got.Reason, got.Quality, got.State)
	}
	last := events.ofType(runner.RunFinished)
	if len(last) != 1 || last[0].Result.Status != machine.Cancelled {
		t.Errorf("run_finished: %+v", last)
	}
}

func TestCancelBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"hang": waitUntilCancelled(make(chan string, 1))})}}, `
nodes: {a: {kind: work, do: hang}}
edges: [{from: a, to: END}]`)
	wantResult(t, startFlow(t, ctx, f, runner.Options{})(), machine.Cancelled, "", "")
}

// The driver abandons a handler that ignores its cancelled context after the grace period.
func TestHandlerIgnoresCancel(t *testing.T) {
	runs, release := make(chan string, 1), make(chan struct{})
	var finished sync.WaitGroup
	finished.Add(1)
	clock := newFakeClock()
	f := prepareFlow(t, runner.Config{Clock: clock, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"ignore": func(_ context.Context, task *runner.Task) (any, error) {
			defer finished.Done()
			runs <- task.Node
			<-release
			task.Emit(runner.Said{Type: "text", Text: "too late"})
			return "too late", nil
		},
	})}}, `
nodes: {a: {kind: work, do: ignore}}
edges: [{from: a, to: END}]`)
	ctx, cancel := context.WithCancel(context.Background())
	end := startFlow(t, ctx, f, runner.Options{})
	<-runs
	cancel()
	clock.fire(6 * time.Second)
	wantResult(t, end(), machine.Cancelled, "", "")
	close(release)
	finished.Wait()
}

func TestTimeoutOnTheClock(t *testing.T) {
	runs := make(chan string, 4)
	attempts := 0
	hang := waitUntilCancelled(runs)
	handlers := map[string]runner.HandlerFunc{
		"hang": hang,
		"hang once": func(ctx context.Context, task *runner.Task) (any, error) {
			if attempts++; attempts == 1 {
				return hang(ctx, task)
			}
			return "done", nil
		},
	}
	t.Run("an attempt", func(t *testing.T) {
		clock := newFakeClock()
		end := startFlow(t, context.Background(), prepareFlow(t, runner.Config{Clock: clock, Kinds: []runner.Kind{workKind(handlers)}}, `
nodes: {a: {kind: work, do: hang, timeout: 5s}}
edges: [{from: a, to: END}]`), runner.Options{})
		<-runs
		clock.fire(5 * time.Second)
		got := end()
		wantResult(t, got, machine.Failed, "a", "timeout")
		if time.Duration(got.Duration) != 5*time.Second {
			t.Errorf("took %v", time.Duration(got.Duration))
		}
	})
	t.Run("a retried attempt", func(t *testing.T) {
		clock := newFakeClock()
		events := &recorder{}
		end := startFlow(t, context.Background(), prepareFlow(t, runner.Config{Clock: clock, Kinds: []runner.Kind{workKind(handlers)}}, `
nodes: {a: {kind: work, do: hang once, timeout: 5s, retry: {max_attempts: 2, initial_interval: 3s, jitter: 0}}}
edges: [{from: a, to: END}]`), runner.Options{Sink: events})
		<-runs
		clock.fire(5 * time.Second)
		clock.fire(3 * time.Second)
		got := end()
		wantResult(t, got, machine.Completed, "a", "")
		retrying := events.ofType(runner.NodeRetrying)
		if len(retrying) != 1 || retrying[0].NextDelay != 3*time.Second || retrying[0].Error.Kind != "timeout" || retrying[0].MaxAttempts != 2 {
			t.Errorf("node_retrying: %+v", retrying)
		}
		if got.Quality != machine.Clean || time.Duration(got.Duration) != 8*time.Second {
			t.Errorf("quality %s after %v", got.Quality, time.Duration(got.Duration))
		}
	})
	t.Run("the run", func(t *testing.T) {
		clock := newFakeClock()
		end := startFlow(t, context.Background(), prepareFlow(t, runner.Config{Clock: clock, Kinds: []runner.Kind{workKind(handlers)}}, `
limits: {timeout: 9s}
nodes: {a: {kind: work, do: hang, timeout: 20s}}
edges: [{from: a, to: END}]`), runner.Options{Timeout: 7 * time.Second})
		<-runs
		clock.fire(7 * time.Second)
		got := end()
		wantResult(t, got, machine.Limit, "", "timeout")
		if got.Reason != "timeout" {
			t.Errorf("reason %s", got.Reason)
		}
	})
	t.Run("a wait", func(t *testing.T) {
		clock := newFakeClock()
		end := startFlow(t, context.Background(), prepareFlow(t, runner.Config{Clock: clock}, `
nodes: {a: {kind: wait, for: 100h}}
edges: [{from: a, to: END}]`), runner.Options{})
		clock.fire(100 * time.Hour)
		wantResult(t, end(), machine.Completed, "a", "")
	})
}

func TestRetryDelaysOnTheClock(t *testing.T) {
	clock := newFakeClock()
	end := startFlow(t, context.Background(), prepareFlow(t, runner.Config{Clock: clock, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"fail": func(context.Context, *runner.Task) (any, error) { return nil, errors.New("no") },
	})}}, `
nodes: {a: {kind: work, do: fail, retry: {max_attempts: 4, initial_interval: 1s, backoff: 10, max_interval: 60s, jitter: 0}}}
edges: [{from: a, to: END}]`), runner.Options{})
	for _, d := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		clock.fire(d)
	}
	got := end()
	wantResult(t, got, machine.Failed, "a", "failed")
	if got.Error.Attempt != 4 || time.Duration(got.Duration) != 71*time.Second {
		t.Errorf("attempt %d after %v", got.Error.Attempt, time.Duration(got.Duration))
	}
}

// The error that a handler returns decides the kind of the failure.
func TestHandlerErrors(t *testing.T) {
	own := &runner.Failure{Kind: "tool", Message: "mine", Details: map[string]any{"a": 1}}
	for name, c := range map[string]struct {
		handler runner.HandlerFunc
		kind    string
		says    string
	}{
		"an error":              {func(context.Context, *runner.Task) (any, error) { return nil, errors.New("plain") }, "failed", "plain"},
		"a failure":             {func(context.Context, *runner.Task) (any, error) { return nil, own }, "tool", "mine"},
		"a wrapped failure":     {func(context.Context, *runner.Task) (any, error) { return nil, fmt.Errorf("outer: %w", own) }, "tool", "mine"},
		"a deadline of its own": {func(context.Context, *runner.Task) (any, error) { return nil, context.DeadlineExceeded }, "timeout", "deadline"},
		"a panic":               {func(context.Context, *runner.Task) (any, error) { panic("boom") }, "internal", "boom"},
		"a panic with an error": {func(context.Context, *runner.Task) (any, error) { panic(own) }, "internal", "mine"},
		"a nil dereference":     {func(_ context.Context, task *runner.Task) (any, error) { return *(*int)(nil), nil }, "internal", "nil pointer"},
		"no plain data":         {func(context.Context, *runner.Task) (any, error) { return make(chan int), nil }, "invalid_output", "plain data"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "nodes: {a: {kind: work, do: it}}\nedges: [{from: a, to: END}]", map[string]runner.HandlerFunc{"it": c.handler}, runner.Options{})
			wantResult(t, got, machine.Failed, "a", c.kind)
			if got.Error == nil || !strings.Contains(got.Error.Message, c.says) || got.Error.Node != "a" || got.Error.Attempt != 1 {
				t.Errorf("error %+v, want %q in it", got.Error, c.says)
			}
		})
	}
	if own.Node != "" || own.Attempt != 0 {
		t.Errorf("the handler's failure was changed: %+v", own)
	}
}

// Outputs of handlers are converted to the types of decoded JSON.
func TestHandlerOutputs(t *testing.T) {
	type point struct {
		X int     `json:"x"`
		Y float64 `json:"y"`
	}
	for name, c := range map[string]struct{ output, want any }{
		"nil": {nil, nil}, "int64": {int64(7), 7}, "float32": {float32(0.5), 0.5}, "whole float": {2.0, 2},
		"strings": {[]string{"a"}, []any{"a"}}, "struct": {point{1, 2.5}, map[string]any{"x": 1, "y": 2.5}},
		"map": {map[string]int{"a": 1}, map[string]any{"a": 1}}, "pointer": {&point{1, 2.5}, map[string]any{"x": 1, "y": 2.5}},
	} {
		got := run(t, "nodes: {a: {kind: work, do: it}}\nedges: [{from: a, to: END}]", map[string]runner.HandlerFunc{
			"it": func(context.Context, *runner.Task) (any, error) { return c.output, nil },
		}, runner.Options{})
		if diff := diffJSON(c.want, got.Output); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Several goroutines may call Emit at once. The sink gets every message before the end of its
// node.
func TestEmitFromGoroutines(t *testing.T) {
	const speakers, each = 8, 50
	events := &recorder{}
	got := run(t, "nodes: {a: {kind: work, do: talk}}\nedges: [{from: a, to: END}]", map[string]runner.HandlerFunc{
		"talk": func(_ context.Context, task *runner.Task) (any, error) {
			var all sync.WaitGroup
			for range speakers {
				all.Go(func() {
					for i := range each {
						task.Emit(runner.Said{Type: "progress", Percent: float64(i)})
					}
				})
			}
			all.Wait()
			task.Emit(runner.Said{Type: "text", Text: "over"})
			return nil, nil
		},
	}, runner.Options{Sink: events})
	wantResult(t, got, machine.Completed, "a", "")
	if n := len(events.ofType(runner.NodeEvent)); n != speakers*each {
		t.Errorf("%d events, want %d", n, speakers*each)
	}
	said, done := events.ofType(runner.NodeOutput), events.ofType(runner.NodeCompleted)
	if len(said) != 2 || len(done) != 1 || said[1].Seq > done[0].Seq || said[0].Said.Final || !said[1].Said.Final || said[0].Node != "a" || said[0].Visit != 1 || said[0].Attempt != 1 {
		t.Errorf("node_output %+v, node_completed %+v", said, done)
	}
	for i, e := range events.events {
		if e.Seq != int64(i)+1 || e.RunID != got.RunID || e.Time.IsZero() {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
}

// A flow can run many times at once.
func TestConcurrentRuns(t *testing.T) {
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"twice": func(_ context.Context, task *runner.Task) (any, error) { return task.Config["with"].(int) * 2, nil },
	})}}, `
state: {n: {type: integer, required: true}, log: {type: array, reducer: append}}
nodes:
  a: {kind: work, do: twice, with: "{{ n }}", writes: [n]}
  b: {kind: set, set: {log: n}}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: visits.b < 5}
  - {from: b, to: END}`)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			got, err := f.Run(context.Background(), runner.Options{Input: map[string]any{"n": i}, Sink: &recorder{}, History: true})
			if err != nil {
				t.Error(err)
				return
			}
			if got.State["n"] != i*32 || got.Steps != 10 || got.Output.(map[string]any)["log"].([]any)[0] != i*32 {
				t.Errorf("run %d: %v %v", i, got.State, got.Output)
			}
		})
	}
	all.Wait()
}

// failingSink fails at its nth event.
type failingSink struct {
	left int
	err  error
}

func (s *failingSink) Event(*runner.Event) error {
	if s.left--; s.left < 0 {
		panic("an event after an error")
	}
	if s.left == 0 {
		return s.err
	}
	return nil
}

// A sink that fails is not called again. The run continues, and its result is returned with the
// error.
func TestSinkError(t *testing.T) {
	f := prepareFlow(t, runner.Config{}, "nodes: {a: {kind: pass}, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: END}]")
	full := errors.New("the sink is full")
	for at := 1; at <= 8; at++ {
		result, err := f.Run(context.Background(), runner.Options{Sink: &failingSink{at, full}})
		if !errors.Is(err, full) || result == nil || result.Status != machine.Completed {
			t.Errorf("failing at event %d: result %v, error %v", at, result, err)
		}
	}
}

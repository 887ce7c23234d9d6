package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

const twoSteps = "nodes: {a: {kind: work, do: a}, b: {kind: work, do: b}}\nedges: [{from: a, to: b}, {from: b, to: END}]"

// A request to cancel has the same effect as an interrupt.
func TestRequestToCancel(t *testing.T) {
	var kept store.Memory
	asked := false
	handlers := map[string]runner.HandlerFunc{
		"a": func(context.Context, *runner.Task) (any, error) { return nil, nil },
		"b": func(ctx context.Context, _ *runner.Task) (any, error) {
			if asked {
				return nil, nil
			}
			asked = true
			if err := kept.SendRequest("one", store.RequestCancel); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	cfg := runner.Config{Store: &kept, Kinds: []runner.Kind{workKind(handlers)}}
	f := prepareFlow(t, cfg, twoSteps)
	wantStatus(t, runPrepared(t, f, runner.Options{RunID: "one"}), machine.Cancelled, 1)
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, 2)
}

// A run pauses after its running tasks have ended, and a resume continues after them.
func TestRequestToPause(t *testing.T) {
	var kept store.Memory
	resumed := false
	handlers := map[string]runner.HandlerFunc{
		"a": func(_ context.Context, task *runner.Task) (any, error) {
			if task.Visit == 1 {
				return nil, kept.SendRequest("one", store.RequestPause)
			}
			return resumed, nil
		},
	}
	cfg := runner.Config{Store: &kept, Kinds: []runner.Kind{workKind(handlers)}}
	f := prepareFlow(t, cfg, "limits: {max_steps: 100000000}\nnodes: {a: {kind: work, do: a}}\nedges: [{from: a, to: END, when: output == true}, {from: a, to: a}]")
	result := runPrepared(t, f, runner.Options{RunID: "one"})
	wantStatus(t, result, machine.Paused, result.Steps)
	resumed = true
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, result.Steps+1)
}

// A run that waits for a person can be cancelled without a driver, and asks again when it is
// resumed.
func TestCancelWithoutDriver(t *testing.T) {
	var kept store.Memory
	cfg := runner.Config{Store: &kept}
	f := prepareFlow(t, cfg, "nodes: {a: {kind: human, prompt: '?'}}\nedges: [{from: a, to: END}]")
	wantStatus(t, runPrepared(t, f, runner.Options{RunID: "one"}), machine.Paused, 0)
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second cancel changes nothing
		result, err := r.Cancel("one")
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, result, machine.Cancelled, 0)
	}
	result := resume(t, cfg, "one", runner.Options{})
	wantStatus(t, result, machine.Paused, 0)
	if len(result.Pending) != 1 {
		t.Errorf("pending are %+v", result.Pending)
	}
	answers := map[string][]string{"a": {"yes"}}
	wantStatus(t, resume(t, cfg, "one", runner.Options{Answers: answers}), machine.Completed, 1)
}

// A cancel without a driver records the tasks of the dead driver as cancelled, and a resume runs
// them again.
func TestCancelCrashed(t *testing.T) {
	handlers := map[string]runner.HandlerFunc{
		"a": func(context.Context, *runner.Task) (any, error) { return nil, nil },
		"b": func(context.Context, *runner.Task) (any, error) { return nil, nil },
	}
	crash := &brokenStore{left: 4, err: context.DeadlineExceeded}
	cfg := runner.Config{Store: crash, Kinds: []runner.Kind{workKind(handlers)}}
	f := prepareFlow(t, cfg, twoSteps)
	if _, err := f.Run(context.Background(), runner.Options{RunID: "one"}); err == nil {
		t.Fatal("the run was to crash")
	}
	cfg.Store = &crash.Memory
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Cancel("one")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, result, machine.Cancelled, 1)
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, 2)
}

// A run whose driver died while it cancelled tasks can still be cancelled.
func TestCancelCrashedWhileCancelling(t *testing.T) {
	nothing := func(context.Context, *runner.Task) (any, error) { return nil, nil }
	for name, text := range map[string]string{
		"task":     twoSteps,
		"elements": "nodes: {a: {kind: work, do: a}, b: {kind: work, do: b, each: '1..3'}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
	} {
		t.Run(name, func(t *testing.T) {
			crash := &brokenStore{left: map[string]int{"task": 4, "elements": 6}[name], err: context.DeadlineExceeded}
			cfg := runner.Config{Store: crash, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"a": nothing, "b": nothing})}}
			f := prepareFlow(t, cfg, text)
			if _, err := f.Run(context.Background(), runner.Options{RunID: "one"}); err == nil {
				t.Fatal("the run was to crash")
			}
			journal, err := crash.Memory.Open("one", "the driver")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(journal.Append(machine.Event{Kind: machine.CancelAsked, At: time.Now().UnixNano()}), journal.Close()); err != nil {
				t.Fatal(err)
			}
			cfg.Store = &crash.Memory
			r, err := runner.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			result, err := r.Cancel("one")
			if err != nil {
				t.Fatal(err)
			}
			wantStatus(t, result, machine.Cancelled, 1)
			wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Completed, 2)
		})
	}
}

func resume(t *testing.T, cfg runner.Config, id string, opts runner.Options) *runner.Result {
	t.Helper()
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Resume(context.Background(), id, opts)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func wantStatus(t *testing.T, r *runner.Result, status machine.Status, steps int) {
	t.Helper()
	if r.Status != status || r.Steps != steps {
		t.Errorf("the run is %s after %d steps, want %s after %d", r.Status, r.Steps, status, steps)
	}
}

// An interrupt ends a run that asks a person, and closes the question.
func TestInterruptWhileAsking(t *testing.T) {
	var kept store.Memory
	cfg := runner.Config{Store: &kept}
	f := prepareFlow(t, cfg, "nodes: {a: {kind: human, prompt: '?'}}\nedges: [{from: a, to: END}]")
	ctx, cancel := context.WithCancel(context.Background())
	result, err := f.Run(ctx, runner.Options{
		RunID: "one",
		Ask: func(ctx context.Context, _ view.Pending, _ string) (string, error) {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, result, machine.Cancelled, 0)
	wantStatus(t, resume(t, cfg, "one", runner.Options{}), machine.Paused, 0)
}

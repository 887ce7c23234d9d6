package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// A fork has its own start time and duration, also in Replay.
func TestForkStartTime(t *testing.T) {
	var kept store.Memory
	cfg := runner.Config{Store: &kept}
	f := prepareFlow(t, cfg, "nodes: {a: {kind: pass}, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: END}]")
	first := runPrepared(t, f, runner.Options{RunID: "one"})
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for at := range 2 {
		before := time.Now()
		forked, err := r.Fork(context.Background(), "one", runner.ForkOptions{At: at})
		if err != nil {
			t.Fatal(err)
		}
		if forked.StartedAt.Before(before.Add(-time.Millisecond)) || forked.StartedAt.Before(first.StartedAt) {
			t.Errorf("the fork at %d began at %s, it was forked after %s", at, forked.StartedAt, before)
		}
		shown, err := r.Replay(forked.RunID, 0, -1, runner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !shown.StartedAt.Equal(forked.StartedAt) && at > 0 || shown.Duration < 0 || shown.Status != machine.Completed {
			t.Errorf("the fork at %d is shown to begin at %s for %d, it began at %s", at, shown.StartedAt, shown.Duration, forked.StartedAt)
		}
	}
}

// The list of runs shows the progress of an active run.
func TestListShowsProgress(t *testing.T) {
	var kept store.Memory
	listed := []int{}
	clock := newFakeClock()
	handlers := map[string]runner.HandlerFunc{
		"it": func(context.Context, *runner.Task) (any, error) {
			clock.AfterFunc(time.Minute, func() {})
			clock.fire(time.Minute)
			list, err := kept.List(store.RunFilter{})
			if err != nil {
				return nil, err
			}
			listed = append(listed, list[0].Steps)
			return nil, nil
		},
	}
	cfg := runner.Config{Store: &kept, Clock: clock, Kinds: []runner.Kind{workKind(handlers)}}
	f := prepareFlow(t, cfg, "nodes: {a: {kind: work, do: it}, b: {kind: work, do: it}, c: {kind: work, do: it}}\nedges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]")
	runPrepared(t, f, runner.Options{RunID: "one"})
	for i, steps := range listed {
		if steps != i {
			t.Errorf("during step %d the list says %d steps", i+1, steps)
		}
	}
}

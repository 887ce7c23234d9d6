package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
)

// Who is woken finds the time that was reached, however soon it looks: an engine that
// replays would else get other times, and other timers.
func TestStageReach(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stage, over := virtual.NewStage(start), make(chan struct{})
	handler := func(context.Context, *runner.Task) (any, error) {
		stage.Wait(over)
		return nil, nil
	}
	f := flowOf(t, runner.Config{Kinds: []runner.Kind{work(map[string]runner.HandlerFunc{"wait": handler})}, Clock: stage.Clock()}, `
nodes: {a: {kind: work, do: wait}}
edges: [{from: a, to: END}]`)
	ended := make(chan *runner.Result, 1)
	stage.Go(func() {
		result, err := f.Run(context.Background(), runner.Options{})
		if err != nil {
			t.Error(err)
		}
		ended <- result
	})
	if _, done := stage.Settle(start); done {
		t.Fatal("the run does not wait for its handler")
	}
	stage.Reach(start.Add(time.Hour))
	stage.Wake(over)
	if result := <-ended; result.Status != machine.Completed || time.Duration(result.Duration) != time.Hour {
		t.Errorf("the run is %s after %s, want 1h", result.Status, time.Duration(result.Duration))
	}
}

package runner_test

import (
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// The duration of an active run extends to the present, not to its last event.
func TestDurationOfALiveRun(t *testing.T) {
	clock := newFakeClock()
	s := &store.Memory{}
	f := prepareFlow(t, runner.Config{Clock: clock, Store: s}, "nodes: {a: {kind: wait, for: 1h}}\nedges: [{from: a, to: END}]\n")
	end := startFlow(t, t.Context(), f, runner.Options{RunID: "one"})
	clock.mu.Lock()
	for len(clock.timers) == 0 {
		clock.moved.Wait()
	}
	clock.now = clock.now.Add(10 * time.Minute)
	clock.mu.Unlock()
	r, err := runner.New(runner.Config{Clock: clock, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Show("one", runner.Options{})
	if err != nil || result.Status != machine.Running || time.Duration(result.Duration) != 10*time.Minute {
		t.Errorf("after ten minutes: %+v, %v", result, err)
	}
	clock.fire(time.Hour)
	if result := end(); result.Status != machine.Completed {
		t.Errorf("%+v", result)
	}
}

package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// lateClock is a clock whose timers that are due at once fire when they are let go.
type lateClock struct {
	*fakeClock
	set   chan struct{}
	letGo chan struct{}
}

func (c *lateClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d > 0 {
		return c.fakeClock.AfterFunc(d, f)
	}
	go func() {
		c.set <- struct{}{}
		<-c.letGo
		f()
	}()
	return func() bool { return false }
}

// A subgraph that goes on at its timer does not ask what the run around it still asks.
func TestPeopleAreAskedOnce(t *testing.T) {
	clock := &lateClock{newFakeClock(), make(chan struct{}), make(chan struct{})}
	var asked atomic.Int32
	first, answer := make(chan struct{}), make(chan struct{})
	f := flowOf(t, runner.Config{Clock: clock, Load: func(string) ([]byte, error) { return []byte(askedBeside), nil }},
		"nodes: {a: {kind: graph, each: '[1]', graph: child.yaml}}\nedges: [{from: a, to: END}]\n")
	end := started(t, t.Context(), f, runner.Options{Ask: func(context.Context, view.Pending, string) (string, error) {
		if asked.Add(1) == 1 {
			close(first)
		}
		<-answer
		return "yes", nil
	}})
	<-first
	clock.fire(time.Hour)
	<-clock.set // the subgraph has gone on, and its timer is due
	close(clock.letGo)
	close(answer)
	if result := end(); result.Status != machine.Completed || asked.Load() != 1 {
		t.Errorf("asked %d times: %+v", asked.Load(), result)
	}
}

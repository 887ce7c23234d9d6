package runner_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// backwardClock is a clock that goes back by a minute at each call of Now.
type backwardClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *backwardClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(-time.Minute)
	return c.now
}

func (c *backwardClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// durationSink is a sink that keeps the durations of the nodes.
type durationSink []time.Duration

func (d *durationSink) Event(e *runner.Event) error {
	if e.Type == runner.NodeCompleted || e.Type == runner.NodeFailed {
		*d = append(*d, e.Duration)
	}
	return nil
}

// No duration is negative, even when the clock is set back.
func TestClockSetBack(t *testing.T) {
	var took durationSink
	f := prepareFlow(t, runner.Config{Clock: &backwardClock{now: time.Unix(1790000000, 0)}, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"it": func(context.Context, *runner.Task) (any, error) { return nil, nil },
	})}}, "nodes: {a: {kind: work, do: it}, b: {kind: work, do: it}}\nedges: [{from: a, to: b}, {from: b, to: END}]")
	result, err := f.Run(context.Background(), runner.Options{Sink: &took, History: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(took) != 2 || took[0] < 0 || took[1] < 0 || result.Duration < 0 {
		t.Errorf("the nodes took %v, the run %v", took, time.Duration(result.Duration))
	}
	for _, h := range result.History {
		if h.Duration < 0 {
			t.Errorf("in the history %s took %v", h.Node, time.Duration(h.Duration))
		}
	}
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const counting = `graphrun: v1
name: counting
start: ok
state: {n: {type: integer, default: 0}, most: {type: integer, default: %d}}
limits: {max_steps: 100000}
nodes:
  ok: {kind: human, prompt: "Go on?", choices: ["yes"]}
  step: {kind: set, set: {n: n + 1}}
edges: [{from: ok, to: step}, {from: step, to: step, when: n < most}, {from: step, to: END}]
`

// TestMany: every watcher gets all events once and in order, however many watchers there are and
// whenever they start.
func TestMany(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 2000))
	d, err := y.Start(y.flow, runner.Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	var told sync.WaitGroup
	watches := longtest.Choose(15, 50)
	watch := func() {
		told.Go(func() {
			last, n, over := int64(0), 0, false
			err := y.Watch(context.Background(), "r", 0, Watcher{Idle: func() error { return nil }, Receive: func(lines []Line) error {
				for i := range lines {
					if lines[i].Seq <= last {
						return fmt.Errorf("event %d is told after %d", lines[i].Seq, last)
					}
					last, over = lines[i].Seq, lines[i].End
					n++
				}
				return nil
			}})
			if err != nil || !over || last-int64(n) > 2 { // a pause that is gone on with leaves a gap
				t.Errorf("a watch of %d events ends at event %d: %v", n, last, err)
			}
		})
	}
	for range watches {
		watch()
	}
	if d, err = y.Resume("r", runner.Options{Answers: map[string][]string{"ok": {"yes"}}}); err != nil {
		t.Fatal(err)
	}
	for range watches {
		watch()
	}
	<-d.Done
	for range watches {
		watch()
	}
	told.Wait()
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.drives) != 0 || y.watched.Load() != 0 {
		t.Errorf("left: %d drives, %d watchers", len(y.drives), y.watched.Load())
	}
}

// A watch that begins after a run has paused also reports its end.
func TestWatchOfAPausedRun(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 1))
	d, err := y.Start(y.flow, runner.Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = y.Watch(ctx, "r", 0, Watcher{Idle: func() error { return nil }, Receive: func(lines []Line) error {
		if lines[len(lines)-1].Type == runner.RunFinished {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) {
		t.Errorf("the end is not told: %v", err)
	}
}

// TestSlow: a slow watcher gets the events that the ring has dropped from the journal.
func TestSlow(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, longtest.Choose(5_000, 20_000)))
	d, err := y.Start(y.flow, runner.Options{RunID: "r", Answers: map[string][]string{"ok": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	n, end := int64(0), false
	err = y.Watch(t.Context(), "r", 0, Watcher{Idle: func() error { return nil }, Receive: func(lines []Line) error {
		for i := range lines {
			if n++; lines[i].Seq != n {
				return fmt.Errorf("event %d is told as the %dth", lines[i].Seq, n)
			}
			end = lines[i].End
		}
		if n < 1000 {
			<-d.Done
		}
		return nil
	}})
	if err != nil || !end || d.ring.from < 1000 {
		t.Errorf("the watch ends at %d: %v; the ring begins after %d", n, err, d.ring.from)
	}
}

// TestLater: the events of an ended run can be watched from any number.
func TestLater(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 300))
	d, err := y.Start(y.flow, runner.Options{RunID: "r", Answers: map[string][]string{"ok": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	for _, after := range []int64{0, 100} {
		n, end := after, false
		err = y.Watch(context.Background(), "r", after, Watcher{Idle: func() error { return nil }, Receive: func(lines []Line) error {
			for i := range lines {
				if n++; lines[i].Seq != n {
					return fmt.Errorf("event %d is told as the %dth", lines[i].Seq, n)
				}
				end = lines[i].End
			}
			return nil
		}})
		if err != nil || !end {
			t.Errorf("the watch after %d ends at %d: %v", after, n, err)
		}
	}
}

// TestTrim: a ring keeps no more than it may.
func TestTrim(t *testing.T) {
	r := &ring{}
	for seq := range int64(60_000) {
		r.add(&runner.Event{Type: runner.NodeStarted, Seq: seq + 1, Node: "a node with a name", Time: time.Unix(0, 0)})
		if r.size > maxRing {
			t.Fatalf("%d bytes are kept", r.size)
		}
	}
	lines, from, _ := r.eventsAfter(r.from)
	if int64(len(lines)) != 60_000-from || lines[0].Seq != from+1 || from == 0 {
		t.Errorf("%d lines after %d", len(lines), from)
	}
}

// TestBeat: a waiting watcher gets regular signs that the run still exists, and learns when it
// was deleted.
func TestBeat(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 3))
	d, err := y.Start(y.flow, runner.Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	beats := 0
	err = y.Watch(t.Context(), "r", 0, Watcher{Beat: time.Millisecond, Receive: func([]Line) error { return nil }, Idle: func() error {
		if beats++; beats == 3 {
			return y.store.Delete("r")
		}
		return nil
	}})
	if beats != 3 || !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%d beats, then %v", beats, err)
	}
}

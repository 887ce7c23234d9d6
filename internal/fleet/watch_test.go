package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
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

// readings counts how often the journals of a store are read from their beginning.
type readings struct {
	store.Store
	n atomic.Int64
}

// Stretch counts.
func (r *readings) Stretch(id string, from, bytes int) ([]machine.Event, error) {
	if from == 0 {
		r.n.Add(1)
	}
	return r.Store.Stretch(id, from, bytes)
}

// TestMany: however many look on, from before or from the middle of a run, all are
// told all of it once and in order, and the journal is read for all of them together.
func TestMany(t *testing.T) {
	kept := &readings{Store: &store.Memory{}}
	y := newYard(t, kept, "", fmt.Sprintf(counting, 2000))
	d, err := y.Start(y.flow, runner.Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	kept.n.Store(0)
	var told sync.WaitGroup
	watch := func() {
		told.Go(func() {
			last, n, over := int64(0), 0, false
			err := y.Watch(context.Background(), "r", 0, Watcher{Idle: func() error { return nil }, Tell: func(lines []Line) error {
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
	for range 50 {
		watch()
	}
	if d, err = y.Resume("r", runner.Options{Answers: map[string][]string{"ok": {"yes"}}}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		watch()
	}
	<-d.Done
	for range 50 {
		watch()
	}
	told.Wait()
	// Followers read it too: of the pause, and after the drive.
	if n := kept.n.Load(); n > 12 {
		t.Errorf("the journal was read %d times for 150", n)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.hubs) != 0 || y.kept.Load() != 0 {
		t.Errorf("left: %d hubs, %d bytes", len(y.hubs), y.kept.Load())
	}
}

// TestTooMuch: what is more than may be kept is told from the journal.
func TestTooMuch(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 300))
	d, err := y.Start(y.flow, runner.Options{RunID: "r", Answers: map[string][]string{"ok": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	y.kept.Add(mostOfAll) // by others
	for _, after := range []int64{0, 100} {
		n, end := after, false
		err = y.Watch(context.Background(), "r", after, Watcher{Idle: func() error { return nil }, Tell: func(lines []Line) error {
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

// TestTrim: a hub keeps no more than it may.
func TestTrim(t *testing.T) {
	for watchers, most := range map[int]int{0: mostUnwatched, 1: mostKept} {
		var all atomic.Int64
		all.Add(mostOfAll)
		h := &hub{watchers: watchers, changed: make(chan struct{}), ofAll: &all}
		feed := h.live()
		for seq := range int64(60_000) {
			h.add(feed, &runner.Event{Type: runner.NodeStarted, Seq: seq + 1, Node: "a node with a name", Time: time.Unix(0, 0)})
			if h.size > most+1000 {
				t.Fatalf("%d watchers: %d bytes are kept", watchers, h.size)
			}
		}
		h.wake()
		lines, from, _, _, _ := h.after(h.from)
		if int64(len(lines)) != 60_000-from || lines[0].Seq != from+1 || all.Load() != int64(mostOfAll+h.size) {
			t.Errorf("%d lines after %d, %d bytes of %d", len(lines), from, h.size, all.Load())
		}
	}
}

// TestFrames: frames that lie one behind the other are one text, and others are not.
func TestFrames(t *testing.T) {
	var r roll
	var lines []Line
	want := ""
	for seq := range int64(500) {
		e := runner.Event{Type: runner.RunFinished, Seq: seq, Result: &runner.Result{Status: machine.Paused}}
		lines = append(lines, r.line(&e))
		want += fmt.Sprintf("id: %d\ndata: %s\n\n", seq, e.AppendJSON(nil))
	}
	got, pieces := "", 0
	for rest := lines; len(rest) > 0; pieces++ {
		text, n := Frames(rest)
		got, rest = got+string(text), rest[n:]
	}
	if got != want || pieces > 10 {
		t.Errorf("%d bytes in %d pieces, want %d", len(got), pieces, len(want))
	}
	if text, n := Frames([]Line{lines[3], lines[5], lines[4]}); n != 1 || string(text) != string(lines[3].Frame) {
		t.Errorf("%d frames that are apart: %s", n, text)
	}
}

// TestTurns: one is told at a time, one that takes long does not keep the others, and
// while runs are driven most of the time is theirs.
func TestTurns(t *testing.T) {
	busy := newTurns(func() bool { return true })
	begun, stuck, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_ = busy.take(t.Context(), func() error {
			close(begun)
			<-stuck
			return nil
		})
	}()
	<-begun
	var others sync.WaitGroup
	told := 0 // by one at a time: -race would see
	for range 20 {
		others.Go(func() {
			_ = busy.take(t.Context(), func() error { told++; return nil })
		})
	}
	others.Wait()
	close(stuck)
	<-over
	if told != 20 {
		t.Errorf("%d of 20 are told", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&turns{}).take(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is told: %v", err)
	}
	began, worked := time.Now(), time.Duration(0)
	for range 10 {
		_ = busy.take(t.Context(), func() error {
			turn := time.Now()
			for time.Since(turn) < time.Millisecond {
			}
			worked += time.Since(turn)
			return nil
		})
	}
	// Turns that took longer, on a busy machine, owe no more than the longest.
	if all := time.Since(began); worked < 10*longestTurn && all < worked*2 {
		t.Errorf("%v of %v are told in", worked, all)
	}
}

// TestBeat: who waits hears now and then that the run is still there, and learns when
// it is no more.
func TestBeat(t *testing.T) {
	y := newYard(t, &store.Memory{}, "", fmt.Sprintf(counting, 3))
	d, err := y.Start(y.flow, runner.Options{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done
	beats := 0
	err = y.Watch(t.Context(), "r", 0, Watcher{Beat: time.Millisecond, Tell: func([]Line) error { return nil }, Idle: func() error {
		if beats++; beats == 3 {
			return y.store.Delete("r")
		}
		return nil
	}})
	if beats != 3 || !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%d beats, then %v", beats, err)
	}
}

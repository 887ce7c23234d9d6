// Looking on at a run.

package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// Pace at which those who look on are told: events within gather come together, and
// beat is the time without one after which they hear that the run is still there. The
// more look on the longer is gathered, by eachWaits for one of them and for mostGather
// at most: telling many must not take the time of the run.
const (
	gather     = 15 * time.Millisecond
	eachWaits  = 2 * time.Millisecond
	mostGather = 400 * time.Millisecond
	beat       = 15 * time.Second
)

// Watcher is told what happens in a run.
type Watcher struct {
	// Tell gets events in order, none twice; Idle is called when there was none for a
	// while. An error ends the watch.
	Tell func(lines []Line) error
	Idle func() error
	// Beat is the time between calls of Idle; 0: 15 seconds.
	Beat time.Duration
}

// Watch tells of the events of a run after the one with a number, those that have
// happened and those that will, until the run has ended, ctx has, or the watcher
// gives up. What a journal does not keep, text and progress, is told only live. It
// fails with runner.ErrNoRun.
func (f *Fleet) Watch(ctx context.Context, id string, after int64, w Watcher) error {
	if _, err := f.cfg.Store.Run(id); err != nil {
		return err
	}
	f.mu.Lock()
	h := f.hub(id)
	h.mu.Lock()
	h.watchers++
	h.mu.Unlock()
	f.mu.Unlock()
	defer f.unwatch(id, h)
	if _, from, _, live := h.after(after); !live || after < from {
		over, err := f.tellJournal(ctx, id, &after, w.Tell)
		if over || err != nil {
			return err
		}
	}
	h.begin(after)
	if w.Beat == 0 {
		w.Beat = beat
	}
	return f.watch(ctx, id, h, after, &w)
}

// watch goes on from where the journal was read to.
func (f *Fleet) watch(ctx context.Context, id string, h *hub, after int64, w *Watcher) error {
	idle := time.NewTimer(w.Beat)
	defer idle.Stop()
	for {
		lines, from, changed, live := h.after(after)
		if after < from {
			over, err := f.tellJournal(ctx, id, &after, w.Tell)
			if over || err != nil {
				return err
			}
			after = max(after, from) // what is not in the journal only its driver could tell
			continue
		}
		if len(lines) > 0 {
			if err := w.Tell(lines); err != nil {
				return err
			}
			last := &lines[len(lines)-1]
			after = last.Seq
			if last.End || !pass(ctx, h.gather()) {
				return nil
			}
			idle.Reset(w.Beat)
			continue
		}
		if over, err := f.overNow(ctx, id, &after, live, w); over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-idle.C:
			if err := w.Idle(); err != nil {
				return err
			}
			idle.Reset(w.Beat)
		}
	}
}

// overNow tells the rest of a run that has ended while no drive here told of it.
func (f *Fleet) overNow(ctx context.Context, id string, after *int64, live bool, w *Watcher) (bool, error) {
	if live {
		return false, nil
	}
	lines, err := f.cfg.Store.List(runner.RunFilter{ID: id})
	if err != nil || len(lines) == 1 && (lines[0].Status == machine.Running || lines[0].Status == machine.Paused) {
		return false, err
	}
	if len(lines) == 0 { // deleted
		return true, nil
	}
	return f.tellJournal(ctx, id, after, w.Tell)
}

// pass lets some time pass; false: ctx has ended.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tellJournal tells what the journal has after a number, which follows. over says that
// the run has ended.
func (f *Fleet) tellJournal(ctx context.Context, id string, after *int64, tell func([]Line) error) (over bool, err error) {
	sink := &journalSink{ctx: ctx, after: after, tell: tell}
	result, err := f.cfg.Runner.Retell(id, runner.Options{Sink: sink})
	if err == nil {
		err = sink.flush()
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return result.Status != machine.Running && result.Status != machine.Paused && f.Driven(id) == nil, nil
}

// journalSink tells of events by the hundred.
type journalSink struct {
	ctx   context.Context
	after *int64
	tell  func([]Line) error
	lines []Line
}

// Event keeps an event that has not been told.
func (s *journalSink) Event(e *runner.Event) error {
	if e.Seq <= *s.after {
		return nil
	}
	*s.after = e.Seq
	s.lines = append(s.lines, lineOf(e))
	if len(s.lines) < 100 {
		return nil
	}
	return s.flush()
}

func (s *journalSink) flush() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if len(s.lines) == 0 {
		return nil
	}
	err := s.tell(s.lines)
	s.lines = s.lines[:0:0]
	return err
}

// hub is that of a run; f.mu is held.
func (f *Fleet) hub(id string) *hub {
	h := f.hubs[id]
	if h == nil {
		h = &hub{changed: make(chan struct{})}
		h.startFollow = func(ctx context.Context, feed int) {
			// A run that can't be read any more is told of no further.
			_, _ = f.cfg.Runner.Follow(ctx, id, runner.Options{Sink: hubSink{h, feed}})
		}
		f.hubs[id] = h
	}
	return h
}

// unwatch ends a watch.
func (f *Fleet) unwatch(id string, h *hub) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.mu.Lock()
	h.watchers--
	if h.watchers == 0 {
		h.unfollow()
	}
	h.mu.Unlock()
	f.drop(id)
}

// drop forgets a hub that nobody needs; f.mu is held.
func (f *Fleet) drop(id string) {
	h := f.hubs[id]
	if h != nil && f.drives[id] == nil && h.watching() == 0 {
		delete(f.hubs, id)
	}
}

// hubSink is a follower's.
type hubSink struct {
	hub  *hub
	feed int
}

// Event hands an event on.
func (s hubSink) Event(e *runner.Event) error {
	s.hub.add(s.feed, e)
	return nil
}

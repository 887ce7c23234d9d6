// Looking on at a run.

package fleet

import (
	"context"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// beat is the time without an event after which those who look on hear that the run is
// still there, and mostTold is about how many bytes of events they get in one turn.
const (
	beat     = 15 * time.Second
	mostTold = 256 << 10
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
// fails with store.ErrNoRun.
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
	if w.Beat == 0 {
		w.Beat = beat
	}
	return f.watch(ctx, id, h, after, &w)
}

// watch tells what there is, and then what comes.
func (f *Fleet) watch(ctx context.Context, id string, h *hub, after int64, w *Watcher) error {
	idle := time.NewTimer(w.Beat)
	defer idle.Stop()
	for ctx.Err() == nil {
		lines, from, changed, fed, over := h.after(after)
		switch {
		case !fed || after < from:
			if err := f.catchUp(ctx, id, h, &after, w); err != nil {
				return err
			}
		case len(lines) > 0:
			lines = portion(lines)
			if err := f.turns.take(ctx, func() error { return w.Tell(lines) }); err != nil {
				return err
			}
			last := &lines[len(lines)-1]
			if after = last.Seq; last.End {
				return nil
			}
			idle.Reset(w.Beat)
		case over:
			return nil
		default:
			select {
			case <-ctx.Done():
			case <-changed:
			case <-idle.C:
				if _, err := f.cfg.Store.Run(id); err != nil { // it was deleted
					return err
				}
				if err := w.Idle(); err != nil {
					return err
				}
				idle.Reset(w.Beat)
			}
		}
	}
	return nil
}

// portion is what of lines is told in one turn.
func portion(lines []Line) []Line {
	size := 0
	for i := range lines {
		if size += len(lines[i].Frame); size > mostTold {
			return lines[:i+1]
		}
	}
	return lines
}

// catchUp has a hub keep what a watcher needs of the journal, or tells it when that is
// more than is kept.
func (f *Fleet) catchUp(ctx context.Context, id string, h *hub, after *int64, w *Watcher) error {
	kept, err := f.fill(ctx, id, h, *after)
	if kept || err != nil {
		return err
	}
	sink := &journalSink{after: after, tell: func(lines []Line) error {
		return f.turns.take(ctx, func() error { return w.Tell(lines) })
	}}
	_, err = f.cfg.Runner.ReplayEvents(id, runner.Options{Sink: sink})
	if err == nil {
		err = sink.flush()
	}
	if err != nil {
		return err
	}
	// What is neither kept nor in the journal only the driver could tell.
	_, from, _, _, _ := h.after(*after)
	*after = max(*after, from)
	h.begin(*after)
	return nil
}

// journalSink tells of events, some at a time.
type journalSink struct {
	after *int64
	tell  func([]Line) error
	roll  roll
	lines []Line
	size  int
}

// Event keeps an event that has not been told.
func (s *journalSink) Event(e *runner.Event) error {
	if e.Seq <= *s.after {
		return nil
	}
	*s.after = e.Seq
	line := s.roll.line(e)
	s.lines, s.size = append(s.lines, line), s.size+len(line.Frame)
	if s.size < mostTold {
		return nil
	}
	return s.flush()
}

func (s *journalSink) flush() error {
	if len(s.lines) == 0 {
		return nil
	}
	err := s.tell(s.lines)
	s.lines, s.size = nil, 0
	return err
}

// hub is that of a run; f.mu is held.
func (f *Fleet) hub(id string) *hub {
	h := f.hubs[id]
	if h == nil {
		h = &hub{changed: make(chan struct{}), ofAll: &f.kept}
		h.startFollow = func(ctx context.Context, feed int) {
			_, err := f.cfg.Runner.Follow(ctx, id, runner.Options{Sink: hubSink{h, feed}})
			if err == nil || ctx.Err() == nil { // a run that can't be read any more is told of no further
				h.rest(feed, true)
			}
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
		h.mu.Lock()
		h.clear(h.last)
		h.mu.Unlock()
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

// What came before the events that a hub keeps, read once for all who need it.

package fleet

import (
	"context"
	"errors"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// errFull ends the reading of more than may be kept.
var errFull = errors.New("more than is kept")

// fill has a hub keep what comes after a number, from the journal. false: that is more
// than it may keep. Whoever comes while somebody else reads waits for that one.
func (f *Fleet) fill(ctx context.Context, id string, h *hub, after int64) (bool, error) {
	h.mu.Lock()
	if wait := h.filling; wait != nil {
		h.mu.Unlock()
		select {
		case <-wait:
			return true, nil
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
	if h.tooMuch {
		h.mu.Unlock()
		return false, nil
	}
	done := make(chan struct{})
	fed := h.fed()
	if !fed {
		h.clear(after)
	}
	feed, from := h.feed, h.from
	h.filling = done
	h.mu.Unlock()
	sink := &fillSink{ctx: ctx, after: after, to: from, most: mostOfAll - int(f.kept.Load())}
	if !fed {
		sink.to = -1
	}
	result, err := f.cfg.Runner.ReplayEvents(id, runner.Options{Sink: sink})
	h.mu.Lock()
	defer h.mu.Unlock()
	defer close(done)
	h.filling = nil
	switch {
	case errors.Is(err, errFull):
		h.tooMuch = true
		return false, nil
	case err != nil && !errors.Is(err, runner.ErrEnough):
		return true, err
	case h.feed != feed || h.from != from || h.fed() != fed: // it is told of by another one since
		return true, nil
	}
	h.from, h.lines = after, append(sink.lines, h.lines...)
	h.grow(sink.size)
	if !fed {
		h.last = max(h.last, after, h.lastLine())
		h.over = result.Status != machine.Running && result.Status != machine.Paused
		h.follow()
	}
	h.wake()
	return true, nil
}

// fillSink keeps the events after a number, up to one; below 0: all.
type fillSink struct {
	ctx       context.Context
	after, to int64
	most      int
	roll      roll
	lines     []Line
	size      int
}

// Event keeps an event.
func (s *fillSink) Event(e *runner.Event) error {
	switch {
	case e.Seq <= s.after:
		return nil
	case s.to >= 0 && e.Seq > s.to:
		return runner.ErrEnough
	case s.size > s.most:
		return errFull
	}
	line := s.roll.line(e)
	s.lines, s.size = append(s.lines, line), s.size+len(line.Frame)
	return s.ctx.Err()
}

// Looking on at a run.

package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

const (
	// beat is the time without an event after which a watcher hears that the run is still
	// there.
	beat = 15 * time.Second
	// gather is the time between two calls of Tell: events in between are told together.
	gather = 15 * time.Millisecond
	// maxTold is about how many bytes of a journal are told at once.
	maxTold = 256 << 10
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
	f.watched.Add(1)
	defer f.watched.Add(-1)
	if w.Beat == 0 {
		w.Beat = beat
	}
	t := &watch{fleet: f, id: id, w: w, after: after, idle: time.NewTimer(w.Beat)}
	defer t.idle.Stop()
	for !t.over && ctx.Err() == nil {
		var err error
		if d := f.Driven(id); d != nil {
			err = t.drive(ctx, d)
		} else {
			err = t.follow(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// watch is a call of Watch. One goroutine uses it.
type watch struct {
	fleet *Fleet
	id    string
	w     Watcher
	after int64 // the number of the last event told
	over  bool  // the run has ended
	idle  *time.Timer
}

// tell tells of events.
func (t *watch) tell(lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	last := &lines[len(lines)-1]
	t.after, t.over = last.Seq, last.End
	t.idle.Reset(t.w.Beat)
	return t.w.Tell(lines)
}

// beat says that the run is still there, or fails.
func (t *watch) beat() error {
	if _, err := t.fleet.cfg.Store.Run(t.id); err != nil { // it was deleted
		return err
	}
	t.idle.Reset(t.w.Beat)
	return t.w.Idle()
}

// drive tells of the events of a drive, until it is over.
func (t *watch) drive(ctx context.Context, d *Drive) error {
	for !t.over {
		lines, from, changed := d.ring.after(t.after)
		switch {
		case t.after < from:
			if _, err := t.read(ctx, from); err != nil {
				return err
			}
			t.after = max(t.after, from) // what is neither kept nor in the journal nobody can tell
		case len(lines) > 0:
			if err := t.tell(lines); err != nil || t.over {
				return err
			}
			time.Sleep(gather)
		case changed == nil:
			return nil
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			case <-t.idle.C:
				if err := t.beat(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// read tells of the events of the journal, up to one with a number unless that is negative.
func (t *watch) read(ctx context.Context, to int64) (*runner.Result, error) {
	var lines []Line
	size := 0
	result, err := t.fleet.cfg.Runner.ReplayEvents(t.id, runner.Options{Sink: sink(func(e *runner.Event) error {
		switch {
		case e.Seq <= t.after:
			return ctx.Err()
		case to >= 0 && e.Seq > to:
			return runner.ErrEnough
		}
		lines = append(lines, lineOf(e))
		if size += len(lines[len(lines)-1].JSON); size < maxTold {
			return nil
		}
		told := lines
		lines, size = nil, 0
		return t.tell(told)
	})})
	if err == nil || errors.Is(err, runner.ErrEnough) {
		err = t.tell(lines)
	}
	return result, err
}

// follow tells of the journal of a run that is not driven here, until it is.
func (t *watch) follow(ctx context.Context) error {
	result, err := t.read(ctx, -1)
	if err != nil || result.Status != machine.Running && result.Status != machine.Paused {
		t.over = true
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	lines, ended, after := make(chan Line, 256), make(chan error, 1), t.after
	go func() {
		_, err := t.fleet.cfg.Runner.Follow(ctx, t.id, runner.Options{Sink: sink(func(e *runner.Event) error {
			if e.Seq <= after {
				return nil
			}
			select {
			case lines <- lineOf(e):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})})
		close(lines)
		ended <- err
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for {
		admitted := t.fleet.nextDrive()
		if t.over || t.fleet.Driven(t.id) != nil {
			return nil
		}
		select {
		case line, more := <-lines:
			if !more {
				t.over = true
				err := <-ended
				ended <- nil
				return err
			}
			told := []Line{line}
			for range len(lines) {
				told = append(told, <-lines)
			}
			if err := t.tell(told); err != nil {
				return err
			}
		case <-admitted:
		case <-ctx.Done():
			return nil
		case <-t.idle.C:
			if err := t.beat(); err != nil {
				return err
			}
		}
	}
}

// sink is a function as a runner.Sink.
type sink func(e *runner.Event) error

// Event calls the function.
func (s sink) Event(e *runner.Event) error { return s(e) }

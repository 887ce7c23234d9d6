// Watchers follow a run. They read its latest events from the drive and earlier ones from the journal.

package fleet

import (
	"context"
	"errors"
	"math"
	"sort"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

const (
	// beat is the time without events after which Idle is called.
	beat = 15 * time.Second
	// batchDelay is the time between two calls of Receive, which get all events in between.
	batchDelay = 15 * time.Millisecond
	// maxBatch bounds the bytes of one call of Receive, approximately.
	maxBatch = 256 << 10
)

// Watcher receives the events of a run.
type Watcher struct {
	// Receive gets each event once, in order. Idle is called after a while without events. An
	// error ends the watch.
	Receive func(lines []Line) error
	Idle    func() error
	// Beat is the time between calls of Idle, by default 15 seconds.
	Beat time.Duration
}

// Watch sends the events of a run after number after to a watcher, past ones first, until the run
// or ctx ends or the watcher returns an error. Past events lack text and progress, which are not in
// the journal. Watch returns store.ErrNoRun for an unknown run.
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
		if d := f.FindDrive(id); d != nil {
			err = t.followDrive(ctx, d)
		} else {
			err = t.followJournal(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// watch is the state of one call of Watch.
type watch struct {
	fleet *Fleet
	id    string
	w     Watcher
	after int64 // number of the last forwarded event
	over  bool  // the run has ended
	idle  *time.Timer
}

func (t *watch) forwardEvents(lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	last := &lines[len(lines)-1]
	t.after, t.over = last.Seq, last.End
	t.idle.Reset(t.w.Beat)
	return t.w.Receive(lines)
}

// callIdle calls Idle if the run still exists.
func (t *watch) callIdle() error {
	if _, err := t.fleet.cfg.Store.Run(t.id); err != nil { // the run was deleted
		return err
	}
	t.idle.Reset(t.w.Beat)
	return t.w.Idle()
}

// followDrive forwards the events of a drive until its end.
func (t *watch) followDrive(ctx context.Context, d *Drive) error {
	for !t.over {
		lines, from, changed := d.ring.eventsAfter(t.after)
		switch {
		case t.after < from:
			if _, err := t.readJournal(ctx, from); err != nil {
				return err
			}
			t.after = max(t.after, from) // events that are neither in the ring nor in the journal are lost
		case len(lines) > 0:
			if err := t.forwardEvents(lines); err != nil || t.over {
				return err
			}
			time.Sleep(batchDelay)
		case changed == nil:
			return nil
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			case <-t.idle.C:
				if err := t.callIdle(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readJournal forwards the events of the journal up to a number.
func (t *watch) readJournal(ctx context.Context, to int64) (*runner.Result, error) {
	var lines []Line
	size := 0
	result, err := t.fleet.cfg.Runner.Replay(t.id, 0, -1, runner.Options{Sink: runner.SinkFunc(func(e *runner.Event) error {
		switch {
		case e.Seq <= t.after:
			return ctx.Err()
		case e.Seq > to:
			return runner.ErrEnough
		}
		lines = append(lines, newLine(e))
		if size += len(lines[len(lines)-1].JSON); size < maxBatch {
			return nil
		}
		batch := lines
		lines, size = nil, 0
		return t.forwardEvents(batch)
	})})
	if err == nil || errors.Is(err, runner.ErrEnough) {
		err = t.forwardEvents(lines)
	}
	return result, err
}

// followJournal forwards the events of a run that another process drives, until this one does. It
// reads the journal first, since Follow does not report that a run is paused.
func (t *watch) followJournal(ctx context.Context) error {
	result, err := t.readJournal(ctx, math.MaxInt64)
	if err != nil || result.Status != machine.Running && result.Status != machine.Paused {
		t.over = true
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	d, ended := &Drive{}, make(chan error, 1)
	go func() {
		_, err := t.fleet.cfg.Runner.Follow(ctx, t.id, runner.Options{Sink: runner.SinkFunc(func(e *runner.Event) error {
			d.ring.add(e)
			if t.fleet.FindDrive(t.id) != nil { // the ring of that drive has text, too
				cancel()
			}
			return ctx.Err()
		})})
		ended <- err
		d.ring.end()
	}()
	err = t.followDrive(ctx, d)
	isDriven := ctx.Err() != nil
	cancel()
	if failed := <-ended; err == nil && !isDriven && !t.over {
		t.over, err = true, failed
	}
	return err
}

// Line is an event of a run. Readers share it and must not change it.
type Line struct {
	Seq  int64
	Type runner.EventType
	// JSON is the event as one line of JSON, as runs events prints it.
	JSON []byte
	// End says that the event ends the run. A pause does not.
	End bool
}

func newLine(e *runner.Event) Line {
	end := e.Type == runner.RunFinished && e.Result != nil && e.Result.Status != machine.Paused
	return Line{Seq: e.Seq, Type: e.Type, JSON: e.AppendJSON(nil), End: end}
}

// maxRing bounds the bytes of events in a ring. The journal has older events, without text and
// progress.
const maxRing = 2 << 20

// ring holds the latest events of a drive. Adding an event never waits for watchers.
type ring struct {
	mu sync.Mutex
	// lines are all events after number from.
	from  int64
	lines []Line
	size  int
	over  bool // the drive is over
	// changed is closed on new events. It is nil while nobody waits.
	changed chan struct{}
}

func (r *ring) add(e *runner.Event) {
	line := newLine(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.from = e.Seq - 1
	}
	r.lines = append(r.lines, line)
	if r.size += len(line.JSON); r.size > maxRing {
		r.dropHalf()
	}
	r.wakeReaders()
}

func (r *ring) dropHalf() {
	half := 0
	for ; r.size > maxRing/2; half++ {
		r.size -= len(r.lines[half].JSON)
	}
	r.from = r.lines[half-1].Seq
	r.lines = append([]Line{}, r.lines[half:]...)
}

// end records that the drive is over and wakes all readers.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wakeReaders()
}

func (r *ring) wakeReaders() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// eventsAfter returns the events after a number, the number after which the ring has all events, and
// a channel that is closed on more events, or nil at the end.
func (r *ring) eventsAfter(seq int64) (lines []Line, from int64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil && !r.over {
		r.changed = make(chan struct{})
	}
	at := sort.Search(len(r.lines), func(i int) bool { return r.lines[i].Seq > seq })
	return r.lines[at:len(r.lines):len(r.lines)], r.from, r.changed
}

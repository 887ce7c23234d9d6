// Clocks and timers of a run, and cancelling tasks.

package runner

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
)

// grace is how long a cancelled handler may take before the run continues without it.
const grace = 6 * time.Second

type timerID struct {
	kind      machine.TimerKind
	task      machine.TaskID
	fan, lane int
}

func newTimerID(c *machine.Command) timerID { return timerID{c.Timer, c.Task, c.Fan, c.Lane} }

// timerDelay returns the delay after which a timer fires.
func (d *driver) timerDelay(c *machine.Command) time.Duration {
	if (c.Timer == machine.RetryTimer || c.Timer == machine.WaitTimer) && d.opts.Rush {
		return 0
	}
	return c.For
}

// startTimer starts a timer. A timer without delay fires as the next event.
func (d *driver) startTimer(c *machine.Command) {
	id := newTimerID(c)
	d.stopTimer(id)
	event := machine.Event{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer, Fan: c.Fan, Lane: c.Lane}
	if c.Timer == machine.AnswerTimer {
		for _, q := range d.state.Questions() {
			if q.Task == c.Task {
				event.Target = q.Target()
				break
			}
		}
	}
	delay := d.timerDelay(c)
	if delay <= 0 && (d.virtualClock == nil || c.Timer == machine.AnswerTimer) { // a run that only waits for people pauses at once
		event.At = d.now()
		d.queue = append(d.queue, event)
		return
	}
	d.timers[id] = d.clock.AfterFunc(max(0, delay), func() {
		event.At = d.now()
		d.sendEvent(event)
	})
}

func (d *driver) stopTimer(id timerID) {
	if stop := d.timers[id]; stop != nil {
		stop()
		delete(d.timers, id)
	}
}

// cancelTask cancels a handler. If it does not return in time, the run continues without it.
func (d *driver) cancelTask(task machine.TaskID) {
	for call, open := range d.calls { //lint:ignore mapiter in any order
		if call.task == task {
			open.wake()
		}
	}
	if cancel := d.cancel[task]; cancel != nil {
		cancel()
	}
	d.timers[timerID{kind: "grace", task: task}] = d.clock.AfterFunc(grace, func() {
		d.sendEvent(machine.Event{
			Kind: machine.TaskEnded, At: d.now(), Task: task,
			Failure: &Failure{Kind: "cancelled", Message: "the handler did not stop when it was cancelled"},
		})
	})
}

func (d *driver) stopPendingWork() {
	close(d.done)
	for _, cancel := range d.cancel { //lint:ignore mapiter in any order
		cancel()
	}
	for _, cancel := range d.asked { //lint:ignore mapiter in any order
		cancel()
	}
	for _, stop := range d.timers { //lint:ignore mapiter in any order
		stop()
	}
}

// systemClock is the clock of this computer.
type systemClock struct{}

// Now returns the time.
func (systemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// timekeeper returns the time of a run: its start by the wall clock plus the measured time since, so
// that setting the clock changes no duration. It is safe for concurrent use.
type timekeeper struct {
	clock Clock

	mu    sync.Mutex // guards the fields below
	start time.Time
	unix  int64 // of start, in nanoseconds
}

func newTimekeeper(clock Clock) *timekeeper {
	now := clock.Now()
	return &timekeeper{clock: clock, start: now, unix: now.UnixNano()}
}

// Now returns the Unix time in nanoseconds.
func (k *timekeeper) Now() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unix + int64(k.clock.Now().Sub(k.start))
}

// AdvanceTo moves the time forward to a moment, unless it is past that.
func (k *timekeeper) AdvanceTo(moment int64) {
	now := k.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unix += max(0, moment-now)
}

// sleep waits by a clock. If ctx ends first, it returns the error of ctx.
func sleep(ctx context.Context, clock Clock, d time.Duration) error {
	if virtual, ok := clock.(*virtual.Clock); ok {
		return virtual.Sleep(ctx, d)
	}
	over := make(chan struct{})
	stop := clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

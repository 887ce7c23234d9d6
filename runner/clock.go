// The machine's clock, and run ids.

package runner

import (
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/process"
)

// systemClock is the clock of the machine graphrun runs on.
type systemClock struct{}

// Now returns the time.
func (systemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// clockOf is the clock of a run: that of the run around it, its own, the runner's.
func (f *Flow) clockOf(opts *Options, nested *nesting) Clock {
	switch {
	case nested != nil:
		return nested.parent.clock
	case opts.Clock != nil:
		return opts.Clock
	}
	return f.runner.cfg.Clock
}

// timekeeper tells a run's time: the wall clock when its driver began, and what has
// been measured since. A wall clock that is set while the run goes on changes no
// duration and ends no wait; one that was set back between two drivers is taken to
// stand where the run was left. Time in which the machine slept counts.
//
// It is safe for concurrent use.
type timekeeper struct {
	clock Clock

	mu    sync.Mutex // of what follows
	start time.Time
	unix  int64 // of start, in nanoseconds
	// slept is for how long the machine has slept by now, looked up at a moment.
	slept  time.Duration
	looked time.Duration // since start
}

func newTimekeeper(clock Clock) *timekeeper {
	now := clock.Now()
	return &timekeeper{clock: clock, start: now, unix: now.UnixNano(), slept: process.Slept()}
}

// lookEvery is how often it is looked up whether the machine has slept, and leastSleep
// what counts as sleep: the clocks that tell are not read at once.
const (
	lookEvery  = 10 * time.Millisecond
	leastSleep = 10 * time.Millisecond
)

// now returns the Unix time in nanoseconds.
func (k *timekeeper) now() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, own := k.clock.(systemClock); !own {
		return k.unix + int64(k.clock.Now().Sub(k.start))
	}
	since := time.Since(k.start) // of two clocks, this reads one
	if since-k.looked >= lookEvery {
		k.looked = since
		if slept := process.Slept(); slept-k.slept >= leastSleep {
			k.unix += int64(slept - k.slept)
			k.slept = slept
		}
	}
	return k.unix + int64(since)
}

// notBefore tells of a moment that has passed.
func (k *timekeeper) notBefore(moment int64) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unix += max(0, moment-now)
}

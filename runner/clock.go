// Clocks: the wall clock, and time that never goes back.

package runner

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/virtual"
)

// systemClock is the clock of this computer.
type systemClock struct{}

// Now returns the time.
func (systemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// timekeeper returns the time of a run: its start by the wall clock plus measured time, so that
// setting the clock changes no duration. It is safe for concurrent use.
type timekeeper struct {
	clock Clock

	mu    sync.Mutex // of what follows
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

// NotBefore moves the time to a moment that has passed.
func (k *timekeeper) NotBefore(moment int64) {
	now := k.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unix += max(0, moment-now)
}

// sleep waits by a clock. It returns the error of ctx if that ends before.
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

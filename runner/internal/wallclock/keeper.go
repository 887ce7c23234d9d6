// Package wallclock tells a run's time: the machine's clock, and time that never goes back
// when that is set.
package wallclock

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/virtual"
)

// Clock tells time, as runner.Clock.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// System is the clock of the machine that graphrun runs on.
type System struct{}

// Now returns the time.
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (System) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Keeper tells a run's time: the wall clock when its driver began, and what has
// been measured since. A wall clock that is set while the run goes on changes no
// duration and ends no wait; one that was set back between two drivers is taken to
// stand where the run was left.
//
// It is safe for concurrent use.
type Keeper struct {
	clock Clock

	mu    sync.Mutex // of what follows
	start time.Time
	unix  int64 // of start, in nanoseconds
}

// NewKeeper begins to measure.
func NewKeeper(clock Clock) *Keeper {
	now := clock.Now()
	return &Keeper{clock: clock, start: now, unix: now.UnixNano()}
}

// Now returns the Unix time in nanoseconds.
func (k *Keeper) Now() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unix + int64(k.clock.Now().Sub(k.start))
}

// NotBefore tells of a moment that has passed.
func (k *Keeper) NotBefore(moment int64) {
	now := k.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unix += max(0, moment-now)
}

// Sleep lets some time pass, by a clock. The error is that of ctx, when it ends before.
func Sleep(ctx context.Context, clock Clock, d time.Duration) error {
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

// Package virtual provides a clock for tests and dry runs, on which waiting takes no time.
package virtual

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"
)

// Clock is a virtual clock. Its time stands still while tasks work, and jumps to the next timer when
// all tasks wait. Tasks that start at the same time run in the order in which they were started: each
// begins when the previous one has ended or waits. If its handlers return the same results, a run is
// the same every time.
//
// Give every run its own clock, as runner.Options.Clock. It is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	queue   []*timer // sorted by time, then by age
	working int      // number of working tasks or parts of tasks
	// outside counts the running functions of RunInRealTime. since is the real time at which now was
	// set.
	outside int
	since   time.Time
	changed chan struct{} // closed when Advance may do more
}

// timer is a function that runs at a virtual time.
type timer struct {
	at   time.Time
	do   func()
	work int             // 1 if it starts or wakes a task
	ctx  context.Context // context of a sleeping task, else nil
}

// NewClock returns a clock whose time is start.
func NewClock(start time.Time) *Clock { return &Clock{now: start, changed: make(chan struct{})} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addRealTime()
	return c.now
}

// AdvanceBy advances the time. Call it only between runs.
func (c *Clock) AdvanceBy(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(0, d))
}

// AfterFunc makes RunNext call f after d. stop prevents that.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	o := c.addTimer(d, &timer{do: f})
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.removeTimer(o)
	}
}

// Go runs a task in a goroutine once all working tasks wait or have ended. A nil clock runs it at once.
func (c *Clock) Go(task func()) {
	if c == nil {
		go task()
		return
	}
	c.addTimer(0, &timer{work: 1, do: func() {
		go func() {
			defer c.AddWork(-1)
			task()
		}()
	}})
}

// Sleep blocks a task until d has passed or ctx has ended.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	o := c.addTimer(d, &timer{work: 1, do: func() { close(over) }, ctx: ctx})
	c.AddWork(-1)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removeTimer(o) {
		c.working++
	}
	return ctx.Err()
}

// RunInRealTime calls f, a part of a task that takes real time.
func (c *Clock) RunInRealTime(f func()) {
	enter := func(by int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.addRealTime()
		c.outside += by
		c.since = time.Now()
		c.addWork(-by)
	}
	enter(1)
	defer enter(-1)
	f()
}

// AddWork adds to the number of working tasks. It does nothing for a nil clock.
func (c *Clock) AddWork(by int) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.addWork(by)
	}
}

func (c *Clock) addWork(by int) {
	c.working += by
	c.wakeDriver()
}

// wakeDriver wakes the caller of RunNext.
func (c *Clock) wakeDriver() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// addRealTime adds the real time that passed while a function of RunInRealTime runs.
func (c *Clock) addRealTime() {
	if c.outside > 0 {
		now := time.Now()
		c.now, c.since = c.now.Add(now.Sub(c.since)), now
	}
}

func (c *Clock) addTimer(d time.Duration, o *timer) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addRealTime()
	o.at = c.now.Add(max(0, d))
	i := sort.Search(len(c.queue), func(i int) bool { return c.queue[i].at.After(o.at) })
	c.queue = slices.Insert(c.queue, i, o)
	c.wakeDriver()
	return o
}

// removeTimer removes a timer, and reports whether it was still pending.
func (c *Clock) removeTimer(o *timer) bool {
	i := slices.Index(c.queue, o)
	if i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	return i >= 0
}

// RunNext runs the next timer if no task works and busy returns false. The driver calls it in a loop.
// The channel is closed when there may be more to do.
func (c *Clock) RunNext(busy func() bool) (again <-chan struct{}) {
	c.mu.Lock()
	again = c.changed
	next := c.nextTimer(busy)
	c.mu.Unlock()
	if next != nil {
		next.do()
	}
	return again
}

// nextTimer removes and returns the timer that is due, or nil.
func (c *Clock) nextTimer(busy func() bool) *timer {
	cancelled := func(o *timer) bool { return o.ctx != nil && o.ctx.Err() != nil } // its task is about to continue
	if c.working > 0 || busy() || len(c.queue) == 0 || slices.ContainsFunc(c.queue, cancelled) {
		return nil
	}
	c.addRealTime()
	next := c.queue[0]
	if wait := next.at.Sub(c.now); wait > 0 {
		if c.outside > 0 {
			time.AfterFunc(wait, func() { c.AddWork(0) })
			return nil
		}
		c.now = next.at
	}
	c.queue = c.queue[1:]
	c.addWork(next.work)
	return next
}

// Package virtual provides a clock for tests and dry runs, on which waiting takes no time.
package virtual

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"
)

// Clock is a virtual clock. Its time stands still while tasks work, and jumps to the next timer
// when all of them wait. Tasks that begin at the same time run in the order in which they were
// started: each begins when the one before has ended or waits. A run whose handlers answer alike
// is the same every time.
//
// Give every run a clock of its own, as runner.Options.Clock. It is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	queue   []*occasion // by time; those of one time by age
	working int         // tasks, or parts of them
	// outside counts the running functions of Outside, since is the real time of now for them.
	outside int
	since   time.Time
	changed chan struct{} // closed when Advance may do more
}

// occasion is something that happens at a time.
type occasion struct {
	at   time.Time
	do   func()
	work int             // 1 if it makes a task work
	ctx  context.Context // of a sleeping task, else nil
}

// NewClock returns a clock whose time is start.
func NewClock(start time.Time) *Clock { return &Clock{now: start, changed: make(chan struct{})} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.now
}

// Pass advances the time while no run works.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(0, d))
}

// AfterFunc makes Advance call f after d. stop prevents that.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	o := c.addOccasion(d, &occasion{do: f})
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.removeOccasion(o)
	}
}

// Go runs a task in a goroutine once the working tasks wait or have ended. A nil clock runs it at once.
func (c *Clock) Go(task func()) {
	if c == nil {
		go task()
		return
	}
	c.addOccasion(0, &occasion{work: 1, do: func() {
		go func() {
			defer c.Work(-1)
			task()
		}()
	}})
}

// Sleep blocks a task until d has passed or ctx has ended.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	o := c.addOccasion(d, &occasion{work: 1, do: func() { close(over) }, ctx: ctx})
	c.Work(-1)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removeOccasion(o) {
		c.working++
	}
	return ctx.Err()
}

// Outside calls f, which does work of a task in real time.
func (c *Clock) Outside(f func()) {
	enter := func(by int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.catchUp()
		c.outside += by
		c.since = time.Now()
		c.addWork(-by)
	}
	enter(1)
	defer enter(-1)
	f()
}

// Work adds to the number of tasks that work. It does nothing for a nil clock.
func (c *Clock) Work(by int) {
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

// wakeDriver wakes the caller of Advance.
func (c *Clock) wakeDriver() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// catchUp adds the real time that passed while something runs outside.
func (c *Clock) catchUp() {
	if c.outside > 0 {
		now := time.Now()
		c.now, c.since = c.now.Add(now.Sub(c.since)), now
	}
}

func (c *Clock) addOccasion(d time.Duration, o *occasion) *occasion {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	o.at = c.now.Add(max(0, d))
	i := sort.Search(len(c.queue), func(i int) bool { return c.queue[i].at.After(o.at) })
	c.queue = slices.Insert(c.queue, i, o)
	c.wakeDriver()
	return o
}

// removeOccasion removes an occasion, and reports whether it was still pending.
func (c *Clock) removeOccasion(o *occasion) bool {
	i := slices.Index(c.queue, o)
	if i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	return i >= 0
}

// Advance runs the next occasion if no task works and busy returns false. The driver calls it in
// a loop. The channel is closed when there may be more to do.
func (c *Clock) Advance(busy func() bool) (again <-chan struct{}) {
	c.mu.Lock()
	again = c.changed
	next := c.nextOccasion(busy)
	c.mu.Unlock()
	if next != nil {
		next.do()
	}
	return again
}

// nextOccasion removes and returns the occasion that happens now; nil for none.
func (c *Clock) nextOccasion(busy func() bool) *occasion {
	cancelled := func(o *occasion) bool { return o.ctx != nil && o.ctx.Err() != nil } // its task is about to work
	if c.working > 0 || busy() || len(c.queue) == 0 || slices.ContainsFunc(c.queue, cancelled) {
		return nil
	}
	c.catchUp()
	next := c.queue[0]
	if wait := next.at.Sub(c.now); wait > 0 {
		if c.outside > 0 {
			time.AfterFunc(wait, func() { c.Work(0) })
			return nil
		}
		c.now = next.at
	}
	c.queue = c.queue[1:]
	c.addWork(next.work)
	return next
}

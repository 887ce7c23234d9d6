// Package virtual has a clock on which time passes at once when nobody works, for tests and
// dry runs.
package virtual

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Clock is a clock for tests and dry runs. Time stands still while a run
// works and goes on to the next timer when everything waits, so that a wait of a
// week takes no time. Tasks that begin at once begin one after the other, in the
// order in which the machine started them, each when the one before has ended or
// waits: a run whose handlers answer alike is the same every time.
//
// Give every run a clock of its own, as runner.Options.Clock. It is safe for concurrent
// use.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	queue occasions
	count int // of occasions, to keep those of one time in order
	// busy counts who works: time stands still while it is not 0.
	busy int
	// outside counts the functions of Outside; since is when, on the clock of the
	// world, now was last brought up to date for them.
	outside int
	since   time.Time
	poke    *time.Timer
	// unsettled report whether somebody is about to work who is not busy yet.
	unsettled map[*func() bool]bool
}

// NewClock is a clock that stands at start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start, unsettled: map[*func() bool]bool{}}
}

// occasion is something that happens at a time.
type occasion struct {
	at     time.Time
	number int
	// reach is called with the lock held, and somebody counted as busy for it.
	reach func()
	ctx   context.Context // of a sleeper
	dead  bool
}

type occasions []*occasion

func (m occasions) Len() int { return len(m) }

func (m occasions) Less(i, j int) bool {
	if m[i].at.Equal(m[j].at) {
		return m[i].number < m[j].number
	}
	return m[i].at.Before(m[j].at)
}

func (m occasions) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

func (m *occasions) Push(x any) { *m = append(*m, x.(*occasion)) }

func (m *occasions) Pop() any {
	last := len(*m) - 1
	out := (*m)[last]
	(*m)[last], *m = nil, (*m)[:last]
	return out
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.now
}

// Pass lets some time pass while no run works.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(0, d))
}

// AfterFunc calls f in its own goroutine when d has passed.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.add(d, func() {
		go func() {
			f()
			c.Release()
		}()
	})
	if c.busy == 0 {
		c.advance()
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := m.dead
		m.dead = true
		return !was
	}
}

// Sleep lets a task wait until d has passed or ctx has ended.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	c.mu.Lock()
	m := c.add(d, func() { close(over) })
	m.ctx = ctx
	c.mu.Unlock()
	c.Release()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !m.dead { // else somebody is counted as busy for it already
		m.dead = true
		c.busy++
	}
	return ctx.Err()
}

// Outside calls f, a task's work in the world, while which time passes as it does
// there.
func (c *Clock) Outside(f func()) {
	c.mu.Lock()
	c.catchUp()
	if c.outside++; c.outside == 1 {
		c.since = time.Now()
	}
	c.mu.Unlock()
	c.Release()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.catchUp()
		c.outside--
		c.busy++
	}()
	f()
}

// catchUp brings the time up to date while something runs outside.
func (c *Clock) catchUp() {
	if c.outside > 0 {
		now := time.Now()
		c.now, c.since = c.now.Add(now.Sub(c.since)), now
	}
}

func (c *Clock) add(d time.Duration, reach func()) *occasion {
	c.catchUp()
	c.count++
	m := &occasion{at: c.now.Add(max(0, d)), number: c.count, reach: reach}
	heap.Push(&c.queue, m)
	return m
}

// Hold says that somebody works, until Release. A nil clock is one of the world.
func (c *Clock) Hold() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy++
}

// Release ends Hold.
func (c *Clock) Release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy == 0 {
		c.advance()
	}
}

// Turn takes a place in the queue of those who begin now; the function waits for
// it, and its caller is busy then.
func (c *Clock) Turn() (wait func()) {
	if c == nil {
		return func() {}
	}
	come := make(chan struct{})
	c.QueueUp(come)
	return func() { <-come }
}

// QueueUp closes come when those who began before have ended or wait; the
// goroutine that waits for that is busy then.
func (c *Clock) QueueUp(come chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(0, func() { close(come) })
}

// Watch keeps time from passing while unsettled returns true: somebody is about to work.
func (c *Clock) Watch(unsettled func() bool) (stop func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsettled[&unsettled] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.unsettled, &unsettled)
	}
}

// stirs reports whether somebody is about to work who is not counted as busy yet.
func (c *Clock) stirs() bool {
	for unsettled := range c.unsettled {
		if (*unsettled)() {
			return true
		}
	}
	for _, m := range c.queue {
		if !m.dead && m.ctx != nil && m.ctx.Err() != nil {
			return true
		}
	}
	return false
}

// advance goes on to the next moment when nobody works.
func (c *Clock) advance() {
	if c.stirs() {
		return
	}
	c.catchUp()
	for len(c.queue) > 0 && c.queue[0].dead {
		heap.Pop(&c.queue)
	}
	if len(c.queue) == 0 {
		return
	}
	next := c.queue[0]
	if wait := next.at.Sub(c.now); wait > 0 && c.outside > 0 {
		if c.poke != nil {
			c.poke.Stop()
		}
		c.poke = time.AfterFunc(wait, c.poked)
		return
	}
	heap.Pop(&c.queue)
	if next.at.After(c.now) {
		c.now = next.at
	}
	next.dead = true
	c.busy++
	next.reach()
}

func (c *Clock) poked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == 0 {
		c.advance()
	}
}

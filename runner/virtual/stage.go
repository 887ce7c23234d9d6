// A stage: a run that goes on only as far as somebody else lets it.

package virtual

import (
	"runtime"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// Stage is a world for one run at a time in which nothing happens by itself: time
// passes when the owner says so, and what handlers come to reaches the run when the
// owner wakes them. An engine that records what comes in, and gives it again, such as
// a workflow, so gets the same run each time. Its clock is for runner.Options.Clock.
//
// The owner calls Settle, Wake and the others from one goroutine, Reach before the first
// of them at a time. Handlers call Wait.
type Stage struct {
	clock *Clock
	quiet *sync.Cond // of the clock's lock: nobody works
	done  bool
	// driver is the one of the run that goes on; nil: none has begun.
	driver Driver
}

// NewStage is a stage on which it is now.
func NewStage(now time.Time) *Stage {
	s := &Stage{clock: NewClock(now), done: true}
	s.quiet = sync.NewCond(&s.clock.mu)
	s.clock.stage = s
	return s
}

// Clock is the clock of the run on the stage.
func (s *Stage) Clock() *Clock { return s.clock }

// Go begins f, which runs or resumes the run, in a goroutine. The one before has
// ended.
func (s *Stage) Go(f func()) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.busy++
	s.done, s.driver = false, nil
	go func() {
		f()
		s.clock.mu.Lock()
		defer s.clock.mu.Unlock()
		s.done = true
		s.clock.busy--
		s.quiet.Broadcast()
	}()
}

// Reach lets time go on to now before anybody is woken: who works looks at the clock,
// and has to find the same each time. What is due by then is Settle's to do.
func (s *Stage) Reach(now time.Time) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if now.After(s.clock.now) {
		s.clock.now = now
	}
}

// Settle lets the run do all that is to be done by now. It returns when the run has
// ended, or when everything in it waits: for a handler, for people, or until due; the
// zero time is never.
func (s *Stage) Settle(now time.Time) (due time.Time, done bool) {
	s.Reach(now)
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.done {
		switch {
		case c.busy > 0:
			s.quiet.Wait()
			continue
		case c.stirs(): // in a moment
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
			continue
		}
		if c.advance(); c.busy == 0 && !c.stirs() {
			break
		}
	}
	if s.done || len(c.queue) == 0 {
		return time.Time{}, s.done
	}
	return c.queue[0].at, false
}

// Wait is for a handler, which does something elsewhere: it returns when the owner
// wakes it.
func (s *Stage) Wait(over <-chan struct{}) {
	s.clock.Release()
	<-over
}

// Wake wakes who waits for over.
func (s *Stage) Wake(over chan struct{}) {
	s.clock.Hold()
	close(over)
}

// Hold says that the caller works on the run, in another goroutine than the owner's
// or between Settle and Settle, until Release.
func (s *Stage) Hold() { s.clock.Hold() }

// Release ends Hold.
func (s *Stage) Release() { s.clock.Release() }

// Driver drives the run that goes on; a runner gives it to the clock of its stage.
type Driver interface {
	// Ask asks something of the run.
	Ask(request store.Request)
	// Offer gives the run answers of others, which its journal then settles.
	Offer(offer store.Offer)
	// AnswersLeft are the answers given in advance that nothing has asked for.
	AnswersLeft() map[string][]string
	// Check reports answers that the run would not take now.
	Check(offer store.Offer) error
}

// Ask asks something of the run, if it goes on.
func (s *Stage) Ask(request store.Request) {
	if d := s.current(); d != nil {
		d.Ask(request)
	}
}

// Offer gives the run answers of others, which its journal then settles. It reports
// whether the run goes on.
func (s *Stage) Offer(offer store.Offer) bool {
	d := s.current()
	if d != nil {
		d.Offer(offer)
	}
	return d != nil
}

// AnswersLeft are the answers given in advance that nothing has asked for, of the run
// that goes on, between Settle and Settle.
func (s *Stage) AnswersLeft() map[string][]string {
	d := s.current()
	if d == nil {
		return nil
	}
	return d.AnswersLeft()
}

// Check reports answers that the run that goes on would not take now, between Settle
// and Settle. The error is a *runner.InputError.
func (s *Stage) Check(offer store.Offer) error {
	d := s.current()
	if d == nil {
		return nil
	}
	return d.Check(offer)
}

func (s *Stage) current() Driver {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if s.done {
		return nil
	}
	return s.driver
}

// enter makes a driver the one that goes on.
func (s *Stage) enter(d Driver) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.driver = d
}

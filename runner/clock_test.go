package runner

import (
	"testing"
	"time"
)

// manualClock is a clock that a test sets. Its timers never fire.
type manualClock struct{ now time.Time }

func (c *manualClock) Now() time.Time { return c.now }

func (c *manualClock) AfterFunc(time.Duration, func()) func() bool {
	return func() bool { return true }
}

func TestTimekeeper(t *testing.T) {
	began := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := &manualClock{began}
	k := newTimekeeper(clock)
	at := func() time.Duration { return time.Duration(k.Now() - began.UnixNano()) }
	clock.now = began.Add(time.Minute)
	if got := at(); got != time.Minute {
		t.Errorf("a minute later it is %s later", got)
	}
	k.AdvanceTo(began.Add(30 * time.Second).UnixNano())
	if got := at(); got != time.Minute {
		t.Errorf("a moment that has passed makes it %s", got)
	}
	k.AdvanceTo(began.Add(time.Hour).UnixNano())
	if got := at(); got != time.Hour {
		t.Errorf("after a run that was left at one hour it is %s", got)
	}
	clock.now = began.Add(2 * time.Minute)
	if got := at(); got != time.Hour+time.Minute {
		t.Errorf("a minute after that it is %s", got)
	}
}

func TestTimekeeperOfTheMachine(t *testing.T) {
	k := newTimekeeper(systemClock{})
	for last, end := int64(0), time.Now().Add(50*time.Millisecond); time.Now().Before(end); {
		now := k.Now()
		if now < last {
			t.Fatalf("it goes back by %s", time.Duration(last-now))
		}
		last = now
	}
	if off := time.Duration(time.Now().UnixNano() - k.Now()).Abs(); off > time.Second {
		t.Errorf("it is off by %s", off)
	}
}

// The machine's clock, and run ids.

package runner

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// systemClock is the clock of the machine graphrun runs on.
type systemClock struct{}

// Now returns the time.
func (systemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// newRunID makes an id that sorts by time: 20261231-235959-1a2b3c4d.
func newRunID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

// timekeeper tells a run's time to its driver. The machine's own clock is read
// by its monotonic part, which costs half as much as a wall clock that knows
// both; how far the two have moved apart (the clock was set, the machine slept)
// is looked up again and again.
type timekeeper struct {
	clock Clock
	seen  time.Time
	unix  int64 // of seen, in nanoseconds
}

// seenFor is how long a look at the wall clock is good for.
const seenFor = 10 * time.Millisecond

// now returns the Unix time in nanoseconds.
func (k *timekeeper) now() int64 {
	if _, own := k.clock.(systemClock); !own {
		return k.clock.Now().UnixNano()
	}
	if since := time.Since(k.seen); since < seenFor {
		return k.unix + int64(since)
	}
	k.seen = time.Now()
	k.unix = k.seen.UnixNano()
	return k.unix
}

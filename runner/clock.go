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

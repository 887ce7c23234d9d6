// Clocks that nobody sets.

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Slept is for how long the machine has slept since it was started: one of its clocks
// goes on meanwhile, and the other stands.
func Slept() time.Duration { return read(unix.CLOCK_MONOTONIC_RAW) - read(unix.CLOCK_UPTIME_RAW) }

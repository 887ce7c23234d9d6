// Clocks that nobody sets.

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Slept is for how long the machine has slept since it was started, while its
// monotonic clock stood.
func Slept() time.Duration { return read(unix.CLOCK_BOOTTIME) - read(unix.CLOCK_MONOTONIC) }

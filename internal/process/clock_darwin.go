// Clocks that nobody sets.

package process

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Slept is for how long the machine has slept since it was started: one of its clocks
// goes on meanwhile, and the other stands.
func Slept() time.Duration { return read(unix.CLOCK_MONOTONIC_RAW) - read(unix.CLOCK_UPTIME_RAW) }

// Awake tells which start of the machine this is, and for how long the machine has
// been awake since. Processes that see the same boot see the same time.
func Awake() (boot string, awake time.Duration) { return thisBoot(), read(unix.CLOCK_UPTIME_RAW) }

var thisBoot = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})

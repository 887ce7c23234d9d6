// Clocks that nobody sets.

package process

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Slept is for how long the machine has slept since it was started, while its
// monotonic clock stood.
func Slept() time.Duration { return read(unix.CLOCK_BOOTTIME) - read(unix.CLOCK_MONOTONIC) }

// Awake tells which start of the machine this is, and for how long the machine has
// been awake since. Processes that see the same boot see the same time.
func Awake() (boot string, awake time.Duration) { return thisBoot(), read(unix.CLOCK_MONOTONIC) }

var thisBoot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // its clocks may be shifted
	return strings.TrimSpace(string(id)) + " " + strings.Trim(space, "time:[]")
})

//go:build linux || darwin

// Reading a clock of the system.

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

func read(clock int32) time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(clock, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

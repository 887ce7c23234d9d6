//go:build unix

package runner_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time of the process so far, all threads: unlike the
// wall clock it does not count the neighbours of a shared machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

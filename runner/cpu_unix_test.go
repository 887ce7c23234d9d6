//go:build unix

package runner_test

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of the process so far, of all threads. Unlike the wall clock
// it is independent of other processes on the machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Ending the programs that a dead driver left running.

package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// killMarked kills the processes with one of the marks, and their groups. It returns the ids of the
// processes.
func killMarked(marks ...string) (killed []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		process, err := os.FindProcess(pid) // a pidfd: the number can't be reused meanwhile
		if err != nil {
			continue
		}
		if slices.Contains(marks, readMark(pid)) {
			group, err := syscall.Getpgid(pid)
			if process.Kill() == nil {
				killed = append(killed, pid)
			}
			// Kill the rest of its group too, even without the variable: a driver that died while it
			// started the program did not notify the watchdog.
			if err == nil && group > 1 && group != syscall.Getpgrp() {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
		}
		_ = process.Release()
	}
	return killed
}

// readMark returns the mark of a process, or "" without one or for another user's process.
func readMark(pid int) string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(markVariable+"=")); ok {
			return string(value)
		}
	}
	return ""
}

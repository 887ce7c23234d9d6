// Ending the programs that a dead driver left running.

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// patience bounds how long killed processes may take to disappear.
const patience = 5 * time.Second

// KillLeftovers ends the programs with marks in the folder of a dead keeper, waits until they are gone,
// and removes the folder. No keeper may use it. The error names processes that can't be ended.
func KillLeftovers(place string) error {
	entries, err := os.ReadDir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if place, err = filepath.Abs(place); err != nil {
		return err
	}
	var marks []string
	for _, entry := range entries {
		marks = append(marks, filepath.Join(place, entry.Name()))
	}
	for began := time.Now(); len(marks) > 0; time.Sleep(5 * time.Millisecond) {
		left := killMarked(marks...)
		if len(left) == 0 {
			break
		}
		if time.Since(began) > patience {
			return fmt.Errorf("process %d of the driver before still runs and can't be ended; try again when it is gone", left[0])
		}
	}
	return os.RemoveAll(place)
}

// killMarked kills the processes with one of the marks and their groups, and returns the ids of
// those that were still there.
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
		found, err := os.FindProcess(pid) // a pidfd: the number can't be reused meanwhile
		if err != nil {
			continue
		}
		if slices.Contains(marks, markOf(pid)) {
			group, err := syscall.Getpgid(pid)
			if found.Kill() == nil {
				killed = append(killed, pid)
			}
			// The rest of its group belongs to it, even without the variable: a driver that died at the
			// start of the program has not told the watchdog.
			if err == nil && group > 1 && group != syscall.Getpgrp() {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
		}
		_ = found.Release()
	}
	return killed
}

// markOf returns the mark of a process, or "" without one or for another user's process.
func markOf(pid int) string {
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

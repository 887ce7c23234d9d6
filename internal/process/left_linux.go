// What a driver that died left running, and the ending of it.

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

// patience is how long processes may take to be gone after they were killed.
const patience = 5 * time.Second

// EndLeft ends the programs whose marks are in the folder of a keeper that is no
// more, waits until they are gone, and removes the folder. The caller knows that
// no keeper uses it. An error says what can't be ended.
func EndLeft(place string) error {
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

// killMarked kills the processes that bear one of the marks, with their groups, and returns
// the numbers of those that were still there.
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
		found, err := os.FindProcess(pid) // holds on to it: the number can't come to mean another
		if err != nil {
			continue
		}
		if slices.Contains(marks, markOf(pid)) {
			group, err := syscall.Getpgid(pid)
			if found.Kill() == nil {
				killed = append(killed, pid)
			}
			// The others of its group belong to it, with or without an environment: a
			// driver that dies as the program starts has told nobody of the group.
			if err == nil && group > 1 && group != syscall.Getpgrp() {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
		}
		_ = found.Release()
	}
	return killed
}

// markOf returns the mark of a process, or "" if it has none or is another user's.
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

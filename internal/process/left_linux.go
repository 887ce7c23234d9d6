// What a driver that died left running, and the ending of it.

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// dieTogether lets the system kill the program when this process dies.
func dieTogether(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }

// groupFile holds the number of a program's group, and what tells its leader from
// others that have or had the number.
const groupFile = "group"

// record keeps which group the program of a mark leads. A power failure may take
// it along, for it takes the program, too.
func record(dir string, group int) {
	_, began := State(group)
	_ = os.WriteFile(filepath.Join(dir, groupFile), fmt.Appendf(nil, "%d\n%s\n%s\n", group, Place(), began), 0o600)
}

// recorded is the group of a mark whose leader is there, living or dead, so that
// the number means no other; 0: none is known.
func recorded(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, groupFile))
	lines := bytes.Split(text, []byte("\n"))
	if err != nil || len(lines) < 3 || string(lines[1]) != Place() || len(lines[2]) == 0 {
		return 0
	}
	group, err := strconv.Atoi(string(lines[0]))
	if _, began := State(group); err != nil || group <= 1 || began != string(lines[2]) {
		return 0
	}
	return group
}

// patience is how long processes may take to be gone after they were killed.
const patience = 5 * time.Second

// startTime is how long a process may be about to become another program, when
// its environment, and so its mark, can't be read.
const startTime = 300 * time.Millisecond

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
	began := time.Now()
	for len(marks) > 0 {
		left, unread := killMarked(marks)
		for _, mark := range marks {
			group := recorded(mark)
			if group != 0 && syscall.Kill(-group, syscall.SIGKILL) == nil && groupRuns(os.DirFS("/proc"), group) {
				left = append(left, group)
			}
		}
		if len(left) == 0 && (!unread || time.Since(began) > startTime) {
			break
		}
		if len(left) > 0 && time.Since(began) > patience {
			return fmt.Errorf("process %d of the driver before still runs and can't be ended; try again when it is gone", left[0])
		}
		time.Sleep(5 * time.Millisecond)
	}
	return os.RemoveAll(place)
}

// killMarked kills the processes that bear one of the marks and returns their
// numbers: those that are gone already are not among them. Unread says that
// others have no environment, or none yet.
func killMarked(marks []string) (killed []int, unread bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
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
		mark, empty := markOf(pid)
		if mark != "" && slices.Contains(marks, mark) {
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
		unread = unread || empty
		_ = found.Release()
	}
	return killed, unread
}

// markOf is the mark of a process; "" if it has none or is another user's. Empty
// says that it is a program without an environment.
func markOf(pid int) (mark string, empty bool) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", false
	}
	if len(env) == 0 {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // the kernel's own and the dead have none
		return "", err == nil
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(markVariable+"=")); ok {
			return string(value), false
		}
	}
	return "", false
}

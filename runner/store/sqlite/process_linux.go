// Processes of a Linux machine.

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// mark tells a process from others that have or had its number: when the
// machine was started, the space its number belongs to, and when it began. The
// last is "?" when it can't be seen.
func mark(pid int) string {
	_, began := processState(pid)
	if began == "" {
		began = "?"
	}
	return place() + " " + began
}

// place is the space of process numbers that this process sees.
func place() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("%.8s %s", boot, strings.Trim(space, "pid:[]"))
}

// gone compares an owner's mark with what runs now.
func gone(pid int, owner string) bool {
	_, rest, _ := strings.Cut(owner, "(")
	began, here := strings.CutPrefix(strings.TrimSuffix(rest, ")"), place()+" ")
	if !here || len(place()) < len("01234567 1") {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, now := processState(pid)
	return state == "Z" || state == "X" || began != "?" && now != "" && began != now
}

// processState reads how a process is and when it began; "" if that can't be seen.
func processState(pid int) (state, began string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The second field is a name in brackets, which may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}

// Processes of a Linux machine.

package sqlite

import (
	"errors"
	"strings"
	"syscall"

	"github.com/graphrun/graphrun/internal/process"
)

// mark tells a process from others that have or had its number: when the
// machine was started, the space its number belongs to, and when it began. The
// last is "?" when it can't be seen.
func mark(pid int) string {
	_, began := process.State(pid)
	if began == "" {
		began = "?"
	}
	return process.Place() + " " + began
}

// gone compares an owner's mark with what runs now.
func gone(pid int, owner string) bool {
	_, rest, _ := strings.Cut(owner, "(")
	began, here := strings.CutPrefix(strings.TrimSuffix(rest, ")"), process.Place()+" ")
	if !here || !process.Known() {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, now := process.State(pid)
	return state == "Z" || state == "X" || began != "?" && now != "" && began != now
}

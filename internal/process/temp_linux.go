// The sweeping of temporary folders whose process was killed.

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tempPrefix begins the name of a temporary folder of this process: the space of process
// numbers, the number and the start of the process.
func tempPrefix() string {
	_, began := processState(os.Getpid())
	return fmt.Sprintf("%s%d-%s-", spacePrefix(), os.Getpid(), began)
}

// spacePrefix tells apart the spaces of process numbers: when the machine was started, and
// which of its spaces this process sees.
func spacePrefix() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("graphrun-%.8s.%s-", boot, strings.Trim(space, "pid:[]"))
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

// sweep removes the folders of processes of this space that are gone. Those of
// other users can't be removed, and stay.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), spacePrefix())
		fields := strings.SplitN(rest, "-", 3)
		if !ok || !entry.IsDir() || len(fields) < 3 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && pid > 0 && hasEnded(pid, fields[1]) {
			_ = EndLeft(filepath.Join(dir, entry.Name()))
		}
	}
}

// hasEnded reports whether the process that had a number since it began is gone.
func hasEnded(pid int, began string) bool {
	state, now := processState(pid)
	if now == "" {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return state == "Z" || state == "X" || now != began
}

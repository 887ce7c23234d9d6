// Removing the temporary folders of killed processes.

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

// tempPrefix returns the name prefix of this process's temporary folders: PID namespace, process
// id and start time.
func tempPrefix() string {
	_, began := processState(os.Getpid())
	return fmt.Sprintf("%s%d-%s-", spacePrefix(), os.Getpid(), began)
}

// spacePrefix identifies the PID namespace: boot time and namespace.
func spacePrefix() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("graphrun-%.8s.%s-", boot, strings.Trim(space, "pid:[]"))
}

// processState returns the state and the start time of a process, or "".
func processState(pid int) (state, began string) {
	if fields := statOf(os.DirFS("/proc"), strconv.Itoa(pid)); len(fields) > 19 {
		return fields[0], fields[19]
	}
	return "", ""
}

// sweep removes the folders of dead processes of this namespace. Those of other users stay.
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

// hasEnded reports whether the process with an id and a start time is gone.
func hasEnded(pid int, began string) bool {
	state, now := processState(pid)
	if now == "" {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return !isRunning(state) || now != began
}

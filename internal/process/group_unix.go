//go:build unix

// Process groups, where the system has them.

package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnGroup makes the program the leader of a new process group, so that
// everything it starts can be ended with it, and so that an interrupt typed at
// the terminal reaches graphrun alone.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The group keeps the number of its leader for as long as it has members, so
// the number can't come to mean another group while one of ours is left.

// group is the process group of a program.
type group struct{}

func (*group) adopt(*exec.Cmd) {}

// ask asks every process of the group to end.
func (*group) ask(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends every process of the group.
func (*group) kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func (*group) forget() {}

// alive reports whether the group has members that run. Dead ones stay
// members until their parent takes note, which for orphans in a container may
// be never, so they don't count where the system tells.
func (*group) alive(cmd *exec.Cmd) bool {
	err := syscall.Kill(-cmd.Process.Pid, 0)
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	return runtime.GOOS != "linux" || groupRuns(os.DirFS("/proc"), cmd.Process.Pid)
}

// groupRuns looks for a live member of the group among the processes that
// proc lists; true if it can't tell.
func groupRuns(proc fs.FS, group int) bool {
	entries, err := fs.ReadDir(proc, ".")
	if err != nil {
		return true
	}
	listed := false
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		listed = true
		stat, err := fs.ReadFile(proc, entry.Name()+"/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state parent group …, where a name may hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 3 || fields[2] != strconv.Itoa(group) {
			continue
		}
		if state := fields[0]; state != "Z" && state != "X" {
			return true
		}
	}
	return !listed
}

// ExitStatus is how a program ended: its exit code, as a shell would report it
// (128 + n for signal n), and the signal's name.
func ExitStatus(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return state.ExitCode(), ""
}

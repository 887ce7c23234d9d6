//go:build unix

// Process groups of Unix, and the watchdog process, which ends the programs of a dead driver.

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnGroup makes the program the leader of a new process group, so that its children end with
// it and Ctrl-C reaches graphrun only.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// A group keeps its number as long as it has members, so the number can't be reused meanwhile.

// group is the process group of a program.
type group struct{}

func (*group) adopt(*exec.Cmd) {}

func (*group) terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func (*group) kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func (*group) release() {}

// isAlive reports whether the group has running members. Zombies don't count on Linux: nobody
// may reap orphans in a container.
func (*group) isAlive(cmd *exec.Cmd) bool {
	err := syscall.Kill(-cmd.Process.Pid, 0)
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	return runtime.GOOS != "linux" || groupRuns(os.DirFS("/proc"), cmd.Process.Pid)
}

// groupRuns looks for a running member of the group in /proc. It returns true if it can't tell.
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
		stat, _ := fs.ReadFile(proc, entry.Name()+"/stat") // fails if the process has ended
		// Its name, in brackets, may hold anything. The state, the parent and the group follow.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return !listed
}

// ExitStatus returns the exit code of a program as a shell reports it (128 + n for signal n),
// and the name of the signal.
func ExitStatus(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return state.ExitCode(), ""
}

// watch reads "+ n" and "- n" lines and kills the listed groups at the end of its input. It is a
// shell script, since a program that uses this module can't restart itself as a watchdog.
const watch = `trap '' HUP INT QUIT TERM
live=' '
while read -r op group; do
	case $op in
	+) live="$live$group " ;;
	-) case $live in *" $group "*) live="${live%%" $group "*} ${live#*" $group "}" ;; esac ;;
	esac
done
for group in $live; do kill -9 "-$group" 2>/dev/null; done
exit 0`

// newWatchdog starts the watchdog in a session of its own, away from terminal signals. It
// returns nil without a shell.
func newWatchdog() *watchdog {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil
	}
	cmd := &exec.Cmd{Path: shell, Args: []string{"graphrun-watchdog", "-c", watch}, Dir: "/", Env: []string{}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	if err := cmd.Start(); err != nil {
		return nil
	}
	return &watchdog{cmd, stdin}
}

func (w *watchdog) notify(op string, group int) {
	if w != nil {
		_, _ = fmt.Fprintf(w.stdin, "%s %d\n", op, group)
	}
}

func (w *watchdog) close() {
	if w != nil {
		_ = w.stdin.Close()
		_ = w.cmd.Wait()
	}
}

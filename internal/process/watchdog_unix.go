//go:build unix

// The process that ends what a dead driver leaves.

package process

import (
	"fmt"
	"os/exec"
	"syscall"
)

// watch keeps a list of groups, a line of "+ n" or "- n" each, and kills those
// on it when there are no more lines. It is a shell script since a program that
// uses this module as a library can't be started anew as something else.
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

// newWatchdog starts the watchdog in a session of its own, where no signal of the
// terminal finds it; nil when it can't be: there is no shell.
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

func (w *watchdog) tell(op string, group int) {
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

//go:build unix

// The watchdog process, which ends the programs of a dead driver.

package process

import (
	"fmt"
	"os/exec"
	"syscall"
)

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

//go:build !unix && !windows

// Systems without process groups: the program alone is ended.

package process

import (
	"os"
	"os/exec"
)

// group is the program alone.
type group struct{}

// OwnGroup does nothing.
func OwnGroup(*exec.Cmd) {}

func (*group) adopt(*exec.Cmd) {}

func (*group) ask(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func (*group) kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func (*group) alive(*exec.Cmd) bool { return false }

func (*group) forget() {}

func signalNone(int) error { return nil }

// ExitStatus is the exit code.
func ExitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

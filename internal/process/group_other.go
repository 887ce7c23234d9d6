//go:build !unix

// Systems without process groups: the program alone is ended.

package process

import (
	"os"
	"os/exec"
)

// OwnGroup does nothing.
func OwnGroup(*exec.Cmd) {}

// AskGroup ends the program.
func AskGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// KillGroup ends the program.
func KillGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// GroupAlive knows of no group.
func GroupAlive(*exec.Cmd) bool { return false }

func signalNone(int) error { return nil }

// ExitStatus is the exit code.
func ExitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

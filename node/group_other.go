//go:build !unix

// Systems without process groups: the program alone is ended.

package node

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func askGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func groupAlive(*exec.Cmd) bool { return false }

func exitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

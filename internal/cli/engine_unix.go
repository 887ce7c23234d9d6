//go:build unix

package cli

import (
	"os"
	"syscall"
)

// becomeProgram replaces this process by another program.
func (a *app) becomeProgram(path string) error {
	if a.Stdout != os.Stdout || a.Stderr != os.Stderr || a.Stdin != os.Stdin {
		return a.runChild(path)
	}
	return syscall.Exec(path, append([]string{path}, a.Args...), os.Environ())
}

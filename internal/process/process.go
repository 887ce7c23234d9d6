// Finding programs, and waiting for the processes that they leave.

// Package process holds what the running of programs needs of the system:
// groups of processes that end together, and the search for a program.
package process

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Find looks a program without a slash up in the PATH that it is going
// to see, which is what a shell does too.
func Find(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	path := ""
	for _, entry := range env {
		if key, value, _ := strings.Cut(entry, "="); key == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(key, "PATH") {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			continue // the current directory to some shells, and a trap
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// Package process runs programs in process groups that end together, and finds programs in PATH.
package process

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Find looks up a program without a slash in the PATH that it will get, as a shell does.
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
			continue // some shells use the current directory here: a trap
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

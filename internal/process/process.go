// Package process runs programs in process groups that end together, and finds programs in PATH.
package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// Tail keeps the last Keep bytes that are written to it. It is safe for concurrent use.
type Tail struct {
	Keep int

	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.Keep):]...)
	// Moving down only when twice full keeps the cost per byte constant.
	if len(t.buf) > 2*t.Keep {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.Keep:])]
	}
	return len(p), nil
}

// Bytes returns what is kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.Keep):]...)
}

// Environment selects the variables of the caller that a program gets.
type Environment struct {
	// Pass is the value of env_pass: "all", or a list of more names.
	Pass any
	// Withheld are names, such as those of secrets, that only Pass includes.
	Withheld []string
}

// RunDirVariable names the folder of the run.
const RunDirVariable = "GRAPHRUN_RUN_DIR"

// taskPrefix is the prefix of variables about the task. A program must not see those of an
// enclosing task.
const taskPrefix = "GRAPHRUN_TASK_"

// isUsual reports whether every program gets a variable: paths, locale and terminal, but no keys.
func isUsual(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "TZ", "TZDIR",
		"LANG", "LANGUAGE", "TERM", "TERMINFO", "COLORTERM", "NO_COLOR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"NIX_SSL_CERT_FILE", "LOCALE_ARCHIVE",
		// Windows can't start programs without these.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "USERNAME", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// ForProgram returns the variables of a program in a folder. runDir returns the folder of
// the run; nil means there is none.
func (e *Environment) ForProgram(dir string, runDir func() (string, error)) ([]string, error) {
	out := append(e.Entries(), "PWD="+dir)
	if runDir == nil {
		return out, nil
	}
	folder, err := runDir()
	return append(out, RunDirVariable+"="+folder), err
}

// Entries returns the variables as NAME=value, in the caller's order.
func (e *Environment) Entries() []string {
	more, _ := e.Pass.([]any)
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, taskPrefix), name == RunDirVariable:
			return true
		case e.Pass == "all", slices.Contains(more, any(name)):
			return false
		}
		return !isUsual(name) || slices.Contains(e.Withheld, name)
	})
}

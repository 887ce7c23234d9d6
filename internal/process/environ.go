// The environment of programs that flows run.

package process

import (
	"os"
	"slices"
	"strings"
)

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

// What a program that a flow runs sees of the environment of graphrun.

package process

import (
	"os"
	"slices"
	"strings"
)

// Environment says what a child gets of the caller's environment.
type Environment struct {
	// Pass names variables besides those that every child gets; All passes all.
	Pass []string
	All  bool
	// Withheld are names that only Pass gives: those of secrets.
	Withheld []string
}

// Read takes what the key env_pass says: "all" or a list of names; anything else
// is none.
func (e *Environment) Read(pass any) {
	e.All = pass == "all"
	names, _ := pass.([]any)
	for _, name := range names {
		if text, ok := name.(string); ok {
			e.Pass = append(e.Pass, text)
		}
	}
}

// RunDirVariable names the folder of the run.
const RunDirVariable = "GRAPHRUN_RUN_DIR"

// taskPrefix begins the names of the variables that tell a program about its
// task: those of a task around this one are none of its business.
const taskPrefix = "GRAPHRUN_TASK_"

// usual reports whether every child gets a variable: what a shell and the
// programs that it starts need to find their files, to speak the right language
// and to draw on the terminal. No name among them is one of a key.
func usual(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "TZ", "TZDIR",
		"LANG", "LANGUAGE", "TERM", "TERMINFO", "COLORTERM", "NO_COLOR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"NIX_SSL_CERT_FILE", "LOCALE_ARCHIVE",
		// Windows starts no program without these.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "USERNAME", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// Entries are the variables as NAME=value, in the caller's order.
func (e *Environment) Entries() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, taskPrefix), name == RunDirVariable:
			return true
		case e.All, slices.Contains(e.Pass, name):
			return false
		}
		return !usual(name) || slices.Contains(e.Withheld, name)
	})
}

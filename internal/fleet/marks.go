// Marks of a fleet's runs, for the next process.

package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The states of a mark: the run is driven or may continue, or it was stopped with the process.
const (
	driving = "driving"
	stopped = "stopped"
)

// marks is a folder with a file for each run of a fleet.
type marks struct{ dir, home string }

// set writes the mark of a run. known says that it exists.
func (m *marks) set(id, how string) (known bool, err error) {
	if m.dir == "" {
		return false, nil
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return false, err
	}
	path := filepath.Join(m.dir, id)
	_, err = os.Stat(path)
	known = err == nil
	return known, os.WriteFile(path, []byte(how+"\n"+m.home+"\n"), 0o600)
}

// remove deletes the mark of a run.
func (m *marks) remove(id string) {
	if m.dir != "" {
		_ = os.Remove(filepath.Join(m.dir, id)) // a superfluous mark does no harm: the run has ended
	}
}

// all returns the runs of this home with their states.
func (m *marks) all() (map[string]string, error) {
	out := map[string]string{}
	if m.dir == "" {
		return out, nil
	}
	entries, err := os.ReadDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for _, entry := range entries {
		text, readErr := os.ReadFile(filepath.Join(m.dir, entry.Name()))
		how, home, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
		if readErr == nil && ok && home == m.home {
			out[entry.Name()] = how
		}
	}
	return out, err
}

// Notes of which runs are a fleet's own, for the process that comes after it.

package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// How a run of a fleet stands: it is driven or may go on by itself, or it was stopped
// because the process ended.
const (
	driving = "driving"
	stopped = "stopped"
)

// marks is a folder with a file for each run of a fleet.
type marks struct{ dir, home string }

// set notes a run; known says that it was noted before.
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

// remove forgets a run.
func (m *marks) remove(id string) {
	if m.dir != "" {
		_ = os.Remove(filepath.Join(m.dir, id)) // one too many is looked at and found to have ended
	}
}

// all are the runs of this home, and how they stand.
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

// The folder of a run (GraphSpec §8, run.dir), and the folder that marks its running programs.

package runner

import (
	"cmp"
	"fmt"
	"os"
	"sync"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/store"
)

// folder is the folder of a run. It is safe for concurrent use.
type folder struct {
	mu     sync.Mutex
	path   string // absolute, or "" for a temporary folder without a name yet
	stored bool   // its store deletes it
	exists bool
}

// newFolder returns the folder of a run, which its store keeps, or a temporary one.
func newFolder(kept store.Store, runID string) *folder {
	if places, ok := kept.(store.FolderStore); ok {
		return &folder{path: places.RunDir(runID), stored: true}
	}
	return &folder{}
}

// tasksDir returns the folder for the marks of running programs, or "" for a temporary one.
func tasksDir(kept store.Store, runID string) string {
	if places, ok := kept.(store.FolderStore); ok {
		return places.RunDir(runID) + ".tasks"
	}
	return ""
}

// Path returns the path. The folder may not exist.
func (f *folder) Path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ensurePath()
}

func (f *folder) ensurePath() string {
	if f.path == "" {
		f.path = process.TempName()
	}
	return f.path
}

// keepPath sets the path that expressions of the run have read, unless it is "".
func (f *folder) keepPath(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.path = cmp.Or(path, f.path)
}

// Create creates the folder unless it exists, and returns its path. The error is a *Failure.
func (f *folder) Create() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(f.ensurePath(), 0o700); err != nil {
		return "", &Failure{Kind: "failed", Message: "can't make the folder of the run: " + err.Error()}
	}
	f.exists = true
	return f.path, nil
}

// Close removes a temporary folder, and a store's folder if it is empty.
func (f *folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.exists:
	case f.stored:
		_ = os.Remove(f.path) // fails unless the folder is empty
	default:
		_ = os.RemoveAll(f.path)
	}
}

// killLeftovers kills programs that a dead driver left running.
func killLeftovers(kept store.Store, runID string) error {
	dir := tasksDir(kept, runID)
	if dir == "" {
		return nil
	}
	if err := process.KillLeftovers(dir); err != nil {
		return fmt.Errorf("run %q: %w", runID, err)
	}
	return nil
}

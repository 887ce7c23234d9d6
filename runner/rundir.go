// The folder of a run (GraphSpec §8, run.dir), and where its programs leave their marks.

package runner

import (
	"fmt"
	"os"
	"sync"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/store"
)

// folder is the folder of a run. It is safe for concurrent use.
type folder struct {
	mu    sync.Mutex
	path  string // absolute; empty: not known yet
	store store.FolderStore
	runID string
	made  bool
}

// newFolder returns the folder of a run: where its store keeps it, or a temporary one.
func newFolder(kept store.Store, runID string) *folder {
	f := &folder{runID: runID}
	f.store, _ = kept.(store.FolderStore)
	return f
}

// Where returns the path, which need not exist.
func (f *folder) Where() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locate()
}

func (f *folder) locate() string {
	switch {
	case f.path != "":
	case f.store != nil:
		f.path = f.store.RunDir(f.runID)
	default:
		f.path = process.TempName()
	}
	return f.path
}

// tasksDir returns where the programs of a run have their marks while they run, or "" for a
// temporary folder.
func tasksDir(kept store.Store, runID string) string {
	if places, ok := kept.(store.FolderStore); ok {
		return places.RunDir(runID) + ".tasks"
	}
	return ""
}

// StayAt keeps the path that the run's expressions have seen, unless it is empty.
func (f *folder) StayAt(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path != "" {
		f.path = path
	}
}

// Make makes the folder unless it exists, and returns its path. The error is a *Failure.
func (f *folder) Make() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.locate()
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", &Failure{Kind: "failed", Message: "can't make the folder of the run: " + err.Error()}
	}
	f.made = true
	return path, nil
}

// Close removes a temporary folder, and one of a store that is empty.
func (f *folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.made:
	case f.store == nil:
		_ = os.RemoveAll(f.path)
	default:
		_ = os.Remove(f.path) // fails where there is something in it
	}
}

// endLeft ends the programs that a dead driver left running.
func endLeft(kept store.Store, runID string) error {
	dir := tasksDir(kept, runID)
	if dir == "" {
		return nil
	}
	if err := process.EndLeft(dir); err != nil {
		return fmt.Errorf("run %q: %w", runID, err)
	}
	return nil
}

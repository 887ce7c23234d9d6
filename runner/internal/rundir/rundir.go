// Package rundir has the folder of a run: made when it is first used, gone with the run
// (GraphSpec §8, run.dir), and the place where its programs leave their marks.
package rundir

import (
	"fmt"
	"os"
	"sync"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Folder is the folder of a run. Tasks and subgraphs share it; it is safe for concurrent
// use.
type Folder struct {
	mu    sync.Mutex
	path  string // absolute; empty: not known yet
	store store.FolderStore
	runID string
	made  bool
}

// New is the folder of a run: where its store keeps it, or a temporary one.
func New(kept store.Store, runID string) *Folder {
	f := &Folder{runID: runID}
	f.store, _ = kept.(store.FolderStore)
	return f
}

// Where is the folder's path, whether it has been made or not.
func (f *Folder) Where() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locate()
}

func (f *Folder) locate() string {
	switch {
	case f.path != "":
	case f.store != nil:
		f.path = f.store.RunDir(f.runID)
	default:
		f.path = process.TempName()
	}
	return f.path
}

// TasksDir is where the programs of a run have their marks while they run; empty:
// in a temporary folder.
func TasksDir(kept store.Store, runID string) string {
	if places, ok := kept.(store.FolderStore); ok {
		return places.RunDir(runID) + ".tasks"
	}
	return ""
}

// StayAt keeps to the path that the run's expressions have seen; empty: none.
func (f *Folder) StayAt(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path != "" {
		f.path = path
	}
}

// Make makes the folder unless it is there, and returns its
// path. The error is a *machine.Failure.
func (f *Folder) Make() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.locate()
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", &machine.Failure{Kind: "failed", Message: "can't make the folder of the run: " + err.Error()}
	}
	f.made = true
	return path, nil
}

// Close removes the folder when the driver leaves the run: all of it where no
// store keeps it, else only one that nobody has put anything into.
func (f *Folder) Close() {
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

// EndLeft ends what a driver that died left running of a run, which the caller drives.
func EndLeft(kept store.Store, runID string) error {
	dir := TasksDir(kept, runID)
	if dir == "" {
		return nil
	}
	if err := process.EndLeft(dir); err != nil {
		return fmt.Errorf("run %q: %w", runID, err)
	}
	return nil
}

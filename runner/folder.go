// The folder of a run: made when it is first used, gone with the run
// (GraphSpec §8, run.dir).

package runner

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/store"
)

// folder is the folder of a run. Tasks and subgraphs share it.
type folder struct {
	mu    sync.Mutex
	path  string // absolute; empty: not known yet
	store store.FolderStore
	runID string
	made  bool
}

func newFolder(kept store.Store, runID string) *folder {
	f := &folder{runID: runID}
	f.store, _ = kept.(store.FolderStore)
	return f
}

// where is the folder's path, whether it has been made or not.
func (f *folder) where() string {
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

// tasksDir is where the programs of a run have their marks while they run; empty:
// in a temporary folder.
func tasksDir(kept store.Store, runID string) string {
	if places, ok := kept.(store.FolderStore); ok {
		return places.RunDir(runID) + ".tasks"
	}
	return ""
}

// endLeft ends what a driver that died left running of a run, whose lease is held.
func (r *Runner) endLeft(runID string) error {
	dir := tasksDir(r.cfg.Store, runID)
	if dir == "" {
		return nil
	}
	if err := process.EndLeft(dir); err != nil {
		return fmt.Errorf("run %q: %w", runID, err)
	}
	return nil
}

// stayAt keeps to the path that the run's expressions have seen; empty: none.
func (f *folder) stayAt(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path != "" {
		f.path = path
	}
}

// make makes the folder unless it is there.
func (f *folder) make() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.locate()
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", &Failure{Kind: "failed", Message: "can't make the folder of the run: " + err.Error()}
	}
	f.made = true
	return path, nil
}

// close removes the folder when the driver leaves the run: all of it where no
// store keeps it, else only one that nobody has put anything into.
func (f *folder) close() {
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

// inFolder makes the folder before a handler of a flow whose expressions name it.
func inFolder(handler Handler) Handler {
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		if _, err := task.RunDir(); err != nil {
			return nil, err
		}
		return handler.Run(ctx, task)
	})
}

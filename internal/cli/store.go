// The store of runs, opened when a command first needs it.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

// inMemory is the value of --store for runs that end with the process.
const inMemory = "memory"

// storeFlags choose the store and its durability.
type storeFlags struct {
	path       string
	durability enum
	// open is the open store, or nil.
	open store.Store
	// abandoned says that a driver may still write to the store at exit.
	abandoned bool
}

func (a *app) addStoreFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.store.path, "store", "", "PATH of the file that keeps runs, or memory to keep none (default: graphrun/runs.db\n"+
		"in $XDG_STATE_HOME, $STATE_DIRECTORY or ~/.local/state)")
	a.store.durability = newEnum(string(sqlite.Full), string(sqlite.Full), string(sqlite.Normal), string(sqlite.Off))
	addEnumFlag(root, flags, &a.store.durability, "durability", "", "when a step is saved: full (synced to disk), normal (a power failure may lose the\nlatest steps), off (it may damage the file)")
	markSettings(flags, "store", "durability")
}

// storePath returns the file of the store, or "" for memory.
func (a *app) storePath() string {
	switch {
	case a.store.path == inMemory:
		return ""
	case a.store.path != "":
		return a.store.path
	case a.StateDir == "":
		return ""
	}
	return filepath.Join(a.StateDir, "graphrun", "runs.db")
}

// openStore opens the store for writing. Main closes it.
func (a *app) openStore() (store.Store, error) {
	if a.usesCluster() {
		return a.openCluster(context.Background())
	}
	if a.storePath() == "" {
		a.store.open = &unkept{}
		return a.store.open, nil
	}
	s, err := a.openFile(sqlite.Options{Durability: sqlite.Durability(a.store.durability.value)})
	if err != nil {
		return nil, fmt.Errorf("%w\n--store names another file, or memory", err)
	}
	return s, nil
}

// openFile opens the file of the store.
func (a *app) openFile(opts sqlite.Options) (store.Store, error) {
	opts.Now = a.Now
	s, err := sqlite.Open(a.storePath(), opts)
	if err != nil {
		return nil, err
	}
	a.store.open = s
	return s, nil
}

// openRun opens the store for writing and finds a run.
func (a *app) openRun(id string) (kept store.Store, record store.RunRecord, err error) {
	if kept, err = a.openStore(); err == nil {
		record, err = a.findRun(kept, id)
	}
	return kept, record, err
}

// findRuns returns the ids of the named runs, each once.
func (a *app) findRuns(s store.Store, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		record, err := a.findRun(s, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, record.ID) {
			ids = append(ids, record.ID)
		}
	}
	return ids, nil
}

// readStore opens the store for reading. A missing file is an empty store.
func (a *app) readStore() (store.Store, error) {
	if a.usesCluster() {
		return a.openCluster(context.Background())
	}
	if a.storePath() == "" {
		return a.openStore()
	}
	s, err := a.openFile(sqlite.Options{ReadOnly: true})
	switch {
	case errors.Is(err, sqlite.ErrOlder), errors.Is(err, sqlite.ErrUnfinished):
		return a.openStore()
	case errors.Is(err, fs.ErrNotExist):
		return &unkept{}, nil
	}
	return s, err
}

// openReader opens the store for reading, with a runner.
func (a *app) openReader() (kept store.Store, r *runner.Runner, err error) {
	if kept, err = a.readStore(); err == nil {
		r, err = a.newRunner(kept, node.Options{})
	}
	return kept, r, err
}

// closeStore closes the store if it is open.
func (a *app) closeStore() error {
	if a.store.open == nil || a.store.abandoned {
		return nil
	}
	return a.store.open.Close()
}

// findRun reads the record of a run; see inspect.FindRun for names.
func (a *app) findRun(s store.Store, name string) (store.RunRecord, error) {
	return inspect.FindRun(s, name, a.storeName())
}

// storeName returns the name of the store for messages.
func (a *app) storeName() string {
	if a.usesCluster() {
		return "the Temporal cluster"
	}
	if path := a.storePath(); path != "" {
		return "the store " + path
	}
	return "the store in memory"
}

// stateDir returns the folder for state of the user, or of the systemd service. It returns ""
// if there is none.
func stateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if dirs := filepath.SplitList(os.Getenv("STATE_DIRECTORY")); len(dirs) > 0 && filepath.IsAbs(dirs[0]) {
		return dirs[0]
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state")
}

// missingStoreReason returns the reason for a missing store unless the user chose memory.
const missingStoreReason = "none of $XDG_STATE_HOME, $STATE_DIRECTORY and $HOME names a folder; --store names a file, or memory"

// requireStore fails if there is no place for a store and the run needs one. It warns that any
// other run is not kept.
func (a *app) requireStore(g *spec.Graph, f *runFlags) error {
	if a.usesCluster() {
		return nil
	}
	if a.store.path != "" || a.StateDir != "" {
		return nil
	}
	if needs := listStoreNeeds(g, f); len(needs) > 0 {
		return usagef("the run can't be kept, and %s needs that: %s", strings.Join(needs, ", "), missingStoreReason)
	}
	fmt.Fprintln(a.Stderr, "graphrun: the run is not kept: "+missingStoreReason)
	return nil
}

// listStoreNeeds lists the flags and nodes of a run that need a store: those that let others
// refer to the run, and nodes that may outlive the process.
func listStoreNeeds(g *spec.Graph, f *runFlags) []string {
	var out []string
	if f.runID != "" {
		out = append(out, "--run-id")
	}
	if f.parks {
		out = append(out, "--park")
	}
	for _, graph := range append([]*spec.Graph{g}, g.Graphs...) {
		for _, n := range graph.Nodes {
			if kind := n.Kind.Value; kind == "human" || kind == "wait" {
				return append(out, fmt.Sprintf("the %s node %q", kind, n.ID.Value))
			}
		}
	}
	return out
}

// unkept is the store of --store memory. It drops logs and needs no snapshots, since nobody
// can read them later.
type unkept struct{ store.Memory }

// AppendLog drops a log chunk.
func (*unkept) AppendLog(string, []store.LogChunk, []int64) (int64, error) { return 1, nil }

// Create returns a journal without snapshots.
func (u *unkept) Create(run store.RunRecord, first ...machine.Event) (store.Journal, error) {
	journal, err := u.Memory.Create(run, first...)
	if err != nil {
		return nil, err
	}
	return unkeptJournal{journal}, nil
}

type unkeptJournal struct{ store.Journal }

// Journaled returns -1.
func (unkeptJournal) Journaled() int { return -1 }

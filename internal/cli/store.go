// The store of runs: where it is, opened when a command first needs it.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// inMemory is the value of --store for runs that end with the process.
const inMemory = "memory"

// storeFlags are where runs are kept and how safely.
type storeFlags struct {
	path       string
	durability enum
	// open is the store that was opened; nil: none.
	open store.Store
	// abandoned says that a driver that did not end may still write to it.
	abandoned bool
}

func (a *app) addStoreFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.store.path, "store", "", "PATH of the file that keeps runs, or memory to keep none (default: graphrun/runs.db\n"+
		"in $XDG_STATE_HOME, $STATE_DIRECTORY or ~/.local/state)")
	a.store.durability = newEnum(string(sqlite.Full), string(sqlite.Full), string(sqlite.Normal), string(sqlite.Off))
	enumFlag(root, flags, &a.store.durability, "durability", "", "what a step waits for: full, the disk; normal, a power failure may cost the\nlatest steps; off, it may cost the file")
	setting(flags, "store", "durability")
}

// storePath is the file of the store; "" means memory.
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

// openStore opens the store to write to it. The program closes it at its end.
func (a *app) openStore() (store.Store, error) {
	if a.onCluster() {
		return a.cluster(context.Background())
	}
	path := a.storePath()
	if path == "" {
		a.store.open = &unkept{}
		return a.store.open, nil
	}
	s, err := sqlite.Open(path, sqlite.Options{Durability: sqlite.Durability(a.store.durability.value), Now: a.Now})
	if err != nil {
		return nil, fmt.Errorf("%w\n--store names another file, or memory", err)
	}
	a.store.open = s
	return s, nil
}

// openRun opens the store to write to it, and finds a run there.
func (a *app) openRun(id string) (kept store.Store, record store.RunRecord, err error) {
	if kept, err = a.openStore(); err == nil {
		record, err = a.findRun(kept, id)
	}
	return kept, record, err
}

// listRuns are the runs to complete from; none when there is no reading them.
func (a *app) listRuns(cmd *cobra.Command) []store.RunSummary {
	if a.loadSettings(cmd, nil) != nil {
		return nil
	}
	s, err := a.readStore()
	if err != nil {
		return nil
	}
	runs, err := s.List(store.RunFilter{Limit: maxListed})
	if err != nil {
		return nil
	}
	return runs
}

// readStore opens the store to look at it; there need not be one.
func (a *app) readStore() (store.Store, error) {
	if a.onCluster() {
		return a.cluster(context.Background())
	}
	path := a.storePath()
	if path == "" {
		return a.openStore()
	}
	s, err := sqlite.Open(path, sqlite.Options{ReadOnly: true, Now: a.Now})
	switch {
	case errors.Is(err, sqlite.ErrOlder), errors.Is(err, sqlite.ErrUnfinished):
		return a.openStore()
	case errors.Is(err, fs.ErrNotExist):
		return &unkept{}, nil
	case err != nil:
		return nil, err
	}
	a.store.open = s
	return s, nil
}

// closeStore closes what was opened.
func (a *app) closeStore() error {
	if a.store.open == nil || a.store.abandoned {
		return nil
	}
	return a.store.open.Close()
}

// findRun reads the record of a run that is named as inspect.FindRun has it.
func (a *app) findRun(s store.Store, name string) (store.RunRecord, error) {
	return inspect.FindRun(s, name, a.storeName())
}

// maxListed bounds the runs that suggestions and completion consider.
const maxListed = 200

// storeName is the store for a person.
func (a *app) storeName() string {
	if a.onCluster() {
		return "the Temporal cluster"
	}
	if path := a.storePath(); path != "" {
		return "the store " + path
	}
	return "the store in memory"
}

// oneRun wants exactly one argument, the id of a run.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usagef("%q takes the id of one run, got %d arguments; last is the latest one, graphrun runs list shows all", cmd.CommandPath(), len(args))
}

// completeRun completes the id of a run.
func (a *app) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const plain = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, plain
	}
	runs := a.listRuns(cmd)
	out := make([]string, len(runs))
	for i := range runs {
		out[i] = cobra.CompletionWithDesc(runs[i].ID, runs[i].Graph+", "+inspect.StatusOf(&runs[i]))
	}
	return out, plain
}

// stateDir is the folder for what programs keep for the user, or for the service
// that systemd runs; "" for none.
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

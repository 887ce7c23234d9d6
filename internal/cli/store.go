// The store of runs, and the commands sessions and cache for the other data in it.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
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
	flags.StringVar(&a.store.path, "store", "", "PATH of the file that stores runs, or memory to store none (default: graphrun/runs.db\n"+
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
	case a.store.path != "" || a.StateDir == "":
		return a.store.path
	}
	return filepath.Join(a.StateDir, "graphrun", "runs.db")
}

// openStore opens the store for writing. Main closes it.
func (a *app) openStore() (store.Store, error) {
	if a.usesCluster() {
		return a.openCluster(context.Background())
	}
	if a.storePath() == "" {
		a.store.open = &volatileStore{}
		return a.store.open, nil
	}
	return a.openFile(sqlite.Options{Durability: sqlite.Durability(a.store.durability.value)})
}

func (a *app) openFile(opts sqlite.Options) (store.Store, error) {
	opts.Now = a.Now
	s, err := sqlite.Open(a.storePath(), opts)
	if err != nil {
		return nil, fmt.Errorf("%w\n--store names another file, or memory", err)
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
		return &volatileStore{}, nil
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

func (a *app) closeStore() error {
	if a.store.open == nil || a.store.abandoned {
		return nil
	}
	return a.store.open.Close()
}

// findRun reads the record of a run. inspect.FindRun says which names it takes.
func (a *app) findRun(s store.Store, name string) (store.RunRecord, error) {
	return inspect.FindRun(s, name, a.storeName())
}

func (a *app) storeName() string {
	if a.usesCluster() {
		return "the Temporal cluster"
	}
	if path := a.storePath(); path != "" {
		return "the store " + path
	}
	return "the store in memory"
}

// findStateDir returns the folder for state of the user, or of the systemd service, or "".
func findStateDir() string {
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

// missingStoreReason is the reason for a missing store if the user did not choose memory.
const missingStoreReason = "none of $XDG_STATE_HOME, $STATE_DIRECTORY and $HOME names a folder; --store names a file, or memory"

// requireStore returns an error if a run needs a store and there is none. It warns about other runs
// without a store.
func (a *app) requireStore(g *spec.Graph, f *runFlags) error {
	if a.usesCluster() || a.store.path != "" || a.StateDir != "" {
		return nil
	}
	if needs := listStoreNeeds(g, f); len(needs) > 0 {
		return usagef("the run can't be kept, and %s needs that: %s", strings.Join(needs, ", "), missingStoreReason)
	}
	a.printNote("the run is not kept: " + missingStoreReason)
	return nil
}

// listStoreNeeds lists the reasons for a store: flags that name the run for later commands, and a
// node that may outlive the process.
func listStoreNeeds(g *spec.Graph, f *runFlags) []string {
	var out []string
	if f.opts.RunID != "" {
		out = append(out, "--run-id")
	}
	if f.opts.Park > 0 {
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

// volatileStore is the store of --store memory. It drops logs and snapshots, which nobody can read.
type volatileStore struct{ store.Memory }

func (*volatileStore) AppendLog(string, []store.LogChunk, []int64) (int64, error) { return 1, nil }

// Create returns a journal without snapshots.
func (u *volatileStore) Create(run store.RunRecord, first ...machine.Event) (store.Journal, error) {
	journal, err := u.Memory.Create(run, first...)
	if err != nil {
		return nil, err
	}
	return volatileJournal{journal}, nil
}

type volatileJournal struct{ store.Journal }

func (volatileJournal) BytesSinceSnapshot() int { return -1 }

func newSessionsCommand(a *app) *cobra.Command {
	return newGroupCommand("sessions", newSessionsListCommand(a), newSessionsShowCommand(a), newSessionsDeleteCommand(a))
}

// listedSession is the JSON of a session in a list.
type listedSession struct {
	Session   string    `json:"session"`
	Keys      []string  `json:"keys"`
	Messages  int       `json:"messages"`
	Run       string    `json:"run"`
	Graph     string    `json:"graph"`
	UpdatedAt time.Time `json:"updated_at"`
}

func newSessionsListCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use: "list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			sessions, err := kept.Sessions()
			if err != nil {
				return err
			}
			list, rows := []listedSession{}, [][]string{{"SESSION", "MESSAGES", "UPDATED", "LAST RUN", "KEYS"}}
			for _, s := range sessions {
				keys := slices.Sorted(maps.Keys(s.Keys))
				list = append(list, listedSession{s.ID, keys, len(s.Talk), s.Run, s.Graph, s.Updated.UTC()})
				rows = append(rows, []string{
					s.ID, strconv.Itoa(len(s.Talk)), runview.FormatTime(s.Updated), s.Run, terminal.Line(strings.Join(keys, " ")),
				})
			}
			return a.printTable(cmd, list, "no sessions", rows)
		},
	})
}

// shownSession is the JSON of show. Conversation is null if no run had one.
type shownSession struct {
	Session      string            `json:"session"`
	Keys         map[string]any    `json:"keys"`
	Conversation []handler.Message `json:"conversation"`
	Run          string            `json:"run"`
	Graph        string            `json:"graph"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

func newSessionsShowCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "show SESSION",
		Args:              requireArgs(1, 1, "the id of a session (graphrun sessions list shows them)"),
		ValidArgsFunction: completeByPosition(a.listSessionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			s, err := a.findSession(kept, args[0])
			if err != nil {
				return err
			}
			s = s.MaskSecrets()
			return a.printValue(cmd, shownSession{s.ID, s.Keys, s.Talk, s.Run, s.Graph, s.Updated.UTC()}, a.formatSession(&s))
		},
	})
}

func (a *app) formatSession(s *store.Session) string {
	c := a.newStdoutColors()
	out := []string{fmt.Sprintf("%s %s, left by run %s of %s at %s", c.Quiet("session"), c.Strong(s.ID), s.Run, s.Graph, runview.FormatTime(s.Updated))}
	out = append(out, runview.FormatState(s.Keys, c)...)
	for _, m := range s.Talk {
		text := m.Content
		for _, call := range m.ToolCalls {
			text += " " + call.Name + runview.FormatValue(call.Args, runview.MaxValue)
		}
		out = append(out, fmt.Sprintf("  %s  %s", c.Quiet(terminal.Pad(string(m.Role), len("assistant"))), terminal.Line(strings.TrimSpace(text))))
	}
	return joinLines(out)
}

func newSessionsDeleteCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "delete SESSION...",
		Args:              requireArgs(1, -1, "the id of a session (graphrun sessions list shows them)"),
		ValidArgsFunction: completeByPosition(a.listSessionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			for _, id := range args { // all or none
				if _, err := a.findSession(kept, id); err != nil {
					return err
				}
			}
			return a.deleteItems(cmd, "session", args, kept.DeleteSession)
		},
	})
}

// findSession reads a session. The error for an unknown id suggests a similar one.
func (a *app) findSession(kept store.Store, id string) (store.Session, error) {
	s, err := kept.Session(id)
	if !errors.Is(err, store.ErrNoSession) {
		return s, err
	}
	sessions, err := kept.Sessions()
	if err != nil {
		return s, err
	}
	ids := mapSlice(sessions, func(s store.Session) string { return s.ID })
	return s, usagef("no session %q in %s%s", id, a.storeName(), suggest.DidYouMean(id, ids))
}

func newCacheCommand(a *app) *cobra.Command {
	return newGroupCommand("cache", newCacheClearCommand(a))
}

func newCacheClearCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "clear [FLOW [NODE...]]",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeFlowNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := a.clearCache(args)
			if err != nil {
				return err
			}
			return a.printValue(cmd, map[string]int{"forgotten": n}, eval.Count(n, "result")+" deleted\n")
		},
	})
}

func (a *app) clearCache(args []string) (int, error) {
	name := ""
	var nodes []string // empty for all
	if len(args) > 0 {
		g, err := a.loadFlow(args[0])
		if err != nil {
			return 0, err
		}
		name, nodes = g.Name.Value, args[1:]
		for _, id := range nodes {
			if err := checkName("no node %q", id, "nodes", listNodes(g, "", "")); err != nil {
				return 0, asUsageError(err)
			}
		}
	}
	kept, err := a.openStore()
	if err != nil {
		return 0, err
	}
	return kept.ClearCache(name, nodes)
}

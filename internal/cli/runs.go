// The runs command and its list: what has run.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func newRunsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, stop and delete runs",
		Long: `runs lists and shows stored runs, also while another process drives them, stops them,
and deletes them.`,
		Example: "  graphrun runs list --status paused\n  graphrun runs show nightly",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newRunsListCommand(a), newRunsShowCommand(a), newRunsPendingCommand(a), newRunsEventsCommand(a), newRunsStateCommand(a),
		newRunsCancelCommand(a), newRunsPauseCommand(a), newRunsDeleteCommand(a), newRunsPruneCommand(a),
	)
	return cmd
}

// runFilterFlags choose runs.
type runFilterFlags struct {
	graph  string
	status enumList
	labels []string
	// session and parent are those of the runs wanted.
	session string
	parent  string
}

func addRunFilterFlags(a *app, cmd *cobra.Command, f *runFilterFlags) {
	f.status.allowed = inspect.RunStatuses()
	flags := cmd.Flags()
	flags.StringVar(&f.graph, "graph", "", "only runs of the graph with this NAME")
	flags.Var(&f.status, "status", "only runs with this status: "+strings.Join(f.status.allowed, ", "))
	flags.StringArrayVar(&f.labels, "label", nil, "only runs with the label key=value; repeatable, all must match")
	flags.StringVar(&f.session, "session", "", "only runs of the session with this ID")
	flags.StringVar(&f.parent, "parent", "", "only forks of this RUN")
	complete(cmd, "status", f.status.allowed)
	complete(cmd, "label", nil)
	a.completeFromRuns(cmd, "graph", func(r *store.RunSummary) string { return r.Graph })
	a.completeFromRuns(cmd, "session", func(r *store.RunSummary) string { return r.Session })
	a.completeFromRuns(cmd, "parent", func(r *store.RunSummary) string { return r.Parent })
}

// find lists the runs that the flags and a filter let through, the last first.
func (f *runFilterFlags) find(s store.Store, filter store.RunFilter) ([]store.RunSummary, error) {
	labels, err := readLabels(f.labels)
	if err != nil {
		return nil, err
	}
	filter.Graph, filter.Labels, filter.Session = f.graph, labels, f.session
	if filter.Parent, err = inspect.ParentID(s, f.parent); err != nil {
		return nil, err
	}
	return inspect.Find(s, filter, f.status.values)
}

func newRunsListCommand(a *app) *cobra.Command {
	var f runFilterFlags
	var limit int
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `list shows the stored runs, the last started first. A run is crashed if its process
vanished while it ran: graphrun resume continues it.`,
		Example:           "  graphrun runs list --graph deploy --status paused,crashed\n  graphrun runs list --label ticket=4711 -o json",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(*cobra.Command, []string) error {
			if limit < 0 {
				return usagef("--limit %d: must be at least 0", limit)
			}
			s, err := a.readStore()
			if err != nil {
				return err
			}
			runs, err := f.find(s, store.RunFilter{Limit: limit})
			if err != nil {
				return err
			}
			if err := a.countSteps(s, runs); err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.Stdout, inspect.ListRuns(runs), a.StdoutTerminal)
			}
			return a.printRuns(runs)
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().IntVar(&limit, "limit", 50, "most runs to list; 0: all")
	complete(cmd, "limit", nil)
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// countSteps updates the step counts of runs that have not ended.
func (a *app) countSteps(s store.Store, runs []store.RunSummary) error {
	r, err := a.newRunner(s, nil)
	if err != nil {
		return err
	}
	inspect.Refresh(r, runs)
	return nil
}

func (a *app) printRuns(runs []store.RunSummary) error {
	if len(runs) == 0 {
		fmt.Fprintln(a.Stderr, "no runs")
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tGRAPH\tSTATUS\tSTEPS\tSTARTED\tNOTES")
	for i := range runs {
		r := &runs[i]
		status := inspect.StatusOf(r)
		switch {
		case r.Unreadable != "":
			status = "unreadable"
		case r.Status == machine.Completed && r.Quality == machine.Degraded:
			status += " (degraded)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", r.ID, r.Graph, status, r.Steps,
			r.Started.Local().Format(time.DateTime), terminal.Line(notesOf(r)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range runs {
		if r := &runs[i]; r.Unreadable != "" {
			fmt.Fprintf(a.Stderr, "graphrun: run %s can't be read: %s\n", r.ID, r.Unreadable)
		}
	}
	return nil
}

// notesOf is what else there is to say of a run: its labels and its parent.
func notesOf(r *store.RunSummary) string {
	var parts []string
	if r.Parent != "" {
		parts = append(parts, fmt.Sprintf("fork of %s at %d", r.Parent, r.ParentStep))
	}
	if r.Reason == "concurrency" {
		parts = append(parts, "waits for its group")
	}
	if r.Session != "" {
		parts = append(parts, "session "+r.Session)
	}
	keys := make([]string, 0, len(r.Labels))
	for key := range r.Labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		parts = append(parts, key+"="+r.Labels[key])
	}
	return strings.Join(parts, " ")
}

// nearPath is a path as a person here would write it.
func nearPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if near, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(near, "..") {
		return near
	}
	return path
}

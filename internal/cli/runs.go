// The runs command: list runs and their questions, delete runs.

package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
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
	}
	cmd.AddCommand(
		newRunsListCommand(a), newRunsShowCommand(a), newRunsPendingCommand(a), newRunsEventsCommand(a), newRunsStateCommand(a),
		newRunsCancelCommand(a), newRunsPauseCommand(a), newRunsDeleteCommand(a), newRunsPruneCommand(a),
	)
	return cmd
}

// runFilterFlags select runs.
type runFilterFlags struct {
	graph  string
	status enumList
	labels []string
	// session and parent select runs.
	session string
	parent  string
}

func addRunFilterFlags(a *app, cmd *cobra.Command, f *runFilterFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.graph, "graph", "", "only runs of the graph with this NAME")
	enumListFlag(cmd, &f.status, inspect.ListStatuses(), "status", "only runs with this status: "+strings.Join(inspect.ListStatuses(), ", "))
	flags.StringArrayVar(&f.labels, "label", nil, "only runs with the label key=value; repeatable, all must match")
	flags.StringVar(&f.session, "session", "", "only runs of the session with this ID")
	flags.StringVar(&f.parent, "parent", "", "only forks of this RUN")
	completeFlag(cmd, "graph", a.runWords(func(r *store.RunSummary) string { return r.Graph }))
	completeFlag(cmd, "session", a.runWords(func(r *store.RunSummary) string { return r.Session }))
	completeFlag(cmd, "parent", a.runWords(func(r *store.RunSummary) string { return r.Parent }))
}

// find returns the runs that the flags and the filter select, latest first.
func (f *runFilterFlags) find(s store.Store, filter store.RunFilter) ([]store.RunSummary, error) {
	labels, err := readLabels(f.labels)
	if err != nil {
		return nil, err
	}
	filter.Graph, filter.Labels, filter.Session = f.graph, labels, f.session
	if filter.Parent, err = inspect.FindParent(s, f.parent); err != nil {
		return nil, err
	}
	return inspect.FindRuns(s, filter, f.status.values)
}

func newRunsListCommand(a *app) *cobra.Command {
	var f runFilterFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `list shows the stored runs, the last started first. A run is crashed if its process
vanished while it ran: graphrun resume continues it.`,
		Example: "  graphrun runs list --graph deploy --status paused,crashed\n  graphrun runs list --label ticket=4711 -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit %d: must be at least 0", limit)
			}
			s, r, err := a.openReader()
			if err != nil {
				return err
			}
			runs, err := f.find(s, store.RunFilter{Limit: limit})
			if err != nil {
				return err
			}
			inspect.RefreshSteps(r, runs)
			return a.print(cmd, inspect.ListRuns(runs), func() error { return a.printRuns(runs) })
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().IntVar(&limit, "limit", 50, "most runs to list; 0: all")
	return withOutput(cmd)
}

func (a *app) printRuns(runs []store.RunSummary) error {
	var rows [][]string
	for i := range runs {
		r := &runs[i]
		status := string(r.StandsAs())
		switch {
		case r.Unreadable != "":
			status = "unreadable"
			defer a.note(fmt.Sprintf("run %s can't be read: %s", r.ID, r.Unreadable))
		case r.Status == machine.Completed && r.Quality == machine.Degraded:
			status += " (degraded)"
		}
		rows = append(rows, []string{r.ID, r.Graph, status, strconv.Itoa(r.Steps), runview.FormatTime(r.Started), terminal.Line(notesOf(r))})
	}
	return a.printTable("no runs", []string{"RUN", "GRAPH", "STATUS", "STEPS", "STARTED", "NOTES"}, rows)
}

// notesOf returns the labels and the parent of a run as text.
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
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		parts = append(parts, key+"="+r.Labels[key])
	}
	return strings.Join(parts, " ")
}

func newRunsPendingCommand(a *app) *cobra.Command {
	var graph string
	var labels []string
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the open questions of all runs",
		Long: `pending lists every open question of every run: of paused runs, and of running and
crashed ones, whose other branches may not have ended yet. graphrun answer answers them.`,
		Example: "  graphrun runs pending\n  graphrun runs pending --label team=ops -o json | jq -r '.[] | .run + \" \" + .target'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := store.RunFilter{Graph: graph}
			var err error
			if filter.Labels, err = readLabels(labels); err != nil {
				return err
			}
			kept, r, err := a.openReader()
			if err != nil {
				return err
			}
			found, err := inspect.FindQuestions(r, kept, filter, func(id string, err error) {
				a.note(fmt.Sprintf("run %s can't be read: %v", id, err))
			})
			if err != nil {
				return err
			}
			return a.print(cmd, found, func() error { return a.printPending(found) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&graph, "graph", "", "only runs of the graph with this NAME")
	flags.StringArrayVar(&labels, "label", nil, "only runs with the label key=value; repeatable, all must match")
	return withOutput(cmd)
}

func (a *app) printPending(found []inspect.Question) error {
	var rows [][]string
	for i := range found {
		q := &found[i]
		until := ""
		if q.Due != nil {
			until = runview.FormatTime(*q.Due)
		}
		asks := terminal.Truncate(terminal.Line(q.Prompt), runview.MaxValue)
		if q.Kind != "tool" { // the prompt of a tool call lists the legal answers
			asks += runview.DescribeAnswers(q.Schema, q.Fields)
		}
		rows = append(rows, []string{q.Run, q.Target, asks, until})
	}
	err := a.printTable("no run asks anything", []string{"RUN", "QUESTION", "ASKS", "UNTIL"}, rows)
	if len(rows) > 0 {
		fmt.Fprintln(a.Stderr, "answer with: graphrun answer RUN QUESTION=VALUE")
	}
	return err
}

func newRunsDeleteCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
		Use:   "delete RUN...",
		Short: "Delete runs and their journals",
		Long: `delete deletes runs and their journals for good. A run that a process drives can't be
deleted: exit 2.`,
		Example:           "  graphrun runs delete nightly",
		Args:              takes(1, -1, "the id of a run (graphrun runs list shows them)"),
		ValidArgsFunction: byPosition(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			ids, err := a.findRuns(kept, args)
			if err != nil {
				return err
			}
			return a.deleteAll(cmd, "run", ids, kept.Delete)
		},
	})
}

// deleteAll deletes items by their ids and prints how many.
func (a *app) deleteAll(cmd *cobra.Command, noun string, ids []string, remove func(id string) error) error {
	for _, id := range ids {
		if err := remove(id); err != nil {
			return err
		}
	}
	return a.printLine(cmd, deleted{Forgotten: ids}, eval.Count(len(ids), noun)+" deleted")
}

// deleted is the JSON of delete and prune.
type deleted struct {
	Forgotten []string `json:"forgotten"`
	// DryRun says that nothing was deleted.
	DryRun bool `json:"dry_run,omitempty"`
}

func newRunsPruneCommand(a *app) *cobra.Command {
	var f runFilterFlags
	var older age
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION",
		Short: "Delete runs that ended some time ago",
		Long: `prune deletes the runs that have ended and last changed longer ago than --older-than.
Paused and crashed runs can be resumed: they stay unless --status names them. Runs that
a process drives always stay.`,
		Example: "  graphrun runs prune --older-than 30d\n  graphrun runs prune --older-than 0s --status crashed,paused --graph deploy",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("older-than") {
				return usagef("--older-than is needed: 90m, 36h or 30d, 0s for all")
			}
			ids, err := a.pruneRuns(&f, time.Duration(older), dryRun)
			if err != nil {
				return err
			}
			return a.print(cmd, deleted{ids, dryRun}, func() error {
				count := eval.Count(len(ids), "run")
				if !dryRun {
					return a.printLines([]string{count + " deleted"})
				}
				fmt.Fprintln(a.Stderr, count+" would be deleted")
				return a.printLines(ids)
			})
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().Var(&older, "older-than", "least time since the run last changed: 90m, 36h, 30d")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list the runs that would be deleted")
	return withOutput(cmd)
}

// pruneRuns deletes the runs without a driver and returns their ids.
func (a *app) pruneRuns(f *runFilterFlags, older time.Duration, dryRun bool) ([]string, error) {
	if len(f.status.values) == 0 {
		f.status.values = slices.DeleteFunc(inspect.ListStatuses(), func(s string) bool {
			return s == inspect.Crashed || s == string(machine.Paused) || s == string(machine.Running)
		})
	}
	kept, err := a.openStore()
	if err != nil {
		return nil, err
	}
	runs, err := f.find(kept, store.RunFilter{UpdatedBefore: a.Now().Add(-older)})
	ids := []string{}
	for i := range runs {
		if runs[i].Owner != "" {
			continue
		}
		if !dryRun {
			// Another process may have resumed it or deleted it since.
			err := kept.Delete(runs[i].ID)
			if _, driven := err.(*store.DrivenError); driven || errors.Is(err, store.ErrNoRun) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		ids = append(ids, runs[i].ID)
	}
	return ids, err
}

// shortPath shortens a path relative to the working or home folder.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if near, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(near, "..") {
		return near
	}
	return path
}

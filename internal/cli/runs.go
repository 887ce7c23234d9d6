// The runs command: list, show, stop and delete runs.

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func newRunsCommand(a *app) *cobra.Command {
	return newGroupCommand(
		"runs",
		newRunsListCommand(a), newRunsShowCommand(a), newRunsPendingCommand(a), newRunsEventsCommand(a), newRunsStateCommand(a),
		newStopCommand(a, store.RequestCancel), newStopCommand(a, store.RequestPause), newRunsDeleteCommand(a), newRunsPruneCommand(a),
	)
}

type runFilterFlags struct {
	filter store.RunFilter
	status enumList
}

func addRunFilterFlags(a *app, cmd *cobra.Command, f *runFilterFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Graph, "graph", "", "only runs of the graph with this NAME")
	addEnumListFlag(cmd, &f.status, inspect.Statuses, "status", "only runs with this status: "+strings.Join(inspect.Statuses, ", "))
	addLabelFlag(cmd, &f.filter.Labels, "only runs with the label key=value; repeatable, all must match")
	flags.StringVar(&f.filter.Session, "session", "", "only runs of the session with this ID")
	flags.StringVar(&f.filter.Parent, "parent", "", "only forks of this RUN")
	completeFlag(cmd, "graph", a.collectFromRuns(func(r *store.RunSummary) string { return r.Graph }))
	completeFlag(cmd, "session", a.collectFromRuns(func(r *store.RunSummary) string { return r.Session }))
	completeFlag(cmd, "parent", a.collectFromRuns(func(r *store.RunSummary) string { return r.Parent }))
}

// selectRuns returns the runs that the flags select, latest first.
func (f *runFilterFlags) selectRuns(s store.Store) (runs []store.RunSummary, err error) {
	if f.filter.Parent, err = inspect.CompleteID(s, f.filter.Parent); err != nil {
		return nil, err
	}
	return inspect.FindRuns(s, f.filter, f.status.values)
}

func newRunsListCommand(a *app) *cobra.Command {
	var f runFilterFlags
	cmd := &cobra.Command{
		Use: "list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.filter.Limit < 0 {
				return usagef("--limit %d: must be at least 0", f.filter.Limit)
			}
			s, r, err := a.openReader()
			if err != nil {
				return err
			}
			runs, err := f.selectRuns(s)
			if err != nil {
				return err
			}
			inspect.RefreshSteps(r, runs)
			return a.printRuns(cmd, runs)
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().IntVar(&f.filter.Limit, "limit", 50, "maximum number of runs to list; 0: all")
	return addOutput(cmd)
}

func (a *app) printRuns(cmd *cobra.Command, runs []store.RunSummary) error {
	rows := [][]string{{"RUN", "GRAPH", "STATUS", "STEPS", "STARTED", "NOTES"}}
	for _, r := range runs {
		status := string(r.EffectiveStatus())
		switch {
		case r.Unreadable != "":
			status = "unreadable"
			if outputFormat(cmd) == "text" {
				defer a.printNote(fmt.Sprintf("run %s can't be read: %s", r.ID, r.Unreadable))
			}
		case r.Status == machine.Completed && r.Quality == machine.Degraded:
			status += " (degraded)"
		}
		rows = append(rows, []string{r.ID, r.Graph, status, strconv.Itoa(r.Steps), runview.FormatTime(r.Started), terminal.Line(formatNotes(&r))})
	}
	return a.printTable(cmd, inspect.ListRuns(runs), "no runs", rows)
}

// formatNotes returns the labels and the parent of a run as text.
func formatNotes(r *store.RunSummary) string {
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
	var filter store.RunFilter
	cmd := &cobra.Command{
		Use: "pending",
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, r, err := a.openReader()
			if err != nil {
				return err
			}
			found, err := inspect.FindQuestions(r, kept, filter, func(id string, err error) {
				a.printNote(fmt.Sprintf("run %s can't be read: %v", id, err))
			})
			if err != nil {
				return err
			}
			return a.printPending(cmd, found)
		},
	}
	cmd.Flags().StringVar(&filter.Graph, "graph", "", "only runs of the graph with this NAME")
	addLabelFlag(cmd, &filter.Labels, "only runs with the label key=value; repeatable, all must match")
	return addOutput(cmd)
}

func (a *app) printPending(cmd *cobra.Command, found []inspect.Question) error {
	rows := [][]string{{"RUN", "QUESTION", "ASKS", "UNTIL"}}
	for _, q := range found {
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
	err := a.printTable(cmd, found, "no run asks anything", rows)
	if len(found) > 0 {
		a.printRemark(cmd, "answer with: graphrun answer RUN QUESTION=VALUE")
	}
	return err
}

func newRunsDeleteCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "delete RUN...",
		Args:              requireArgs(1, -1, "the id of a run (graphrun runs list shows them)"),
		ValidArgsFunction: completeByPosition(a.listRunIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			ids, err := a.findRuns(kept, args)
			if err != nil {
				return err
			}
			return a.deleteItems(cmd, "run", ids, kept.Delete)
		},
	})
}

// deleteItems deletes items by their ids and prints how many.
func (a *app) deleteItems(cmd *cobra.Command, noun string, ids []string, remove func(id string) error) error {
	for _, id := range ids {
		if err := remove(id); err != nil {
			return err
		}
	}
	return a.printValue(cmd, deletedItems{Forgotten: ids}, eval.Count(len(ids), noun)+" deleted\n")
}

// deletedItems is the JSON of delete and prune.
type deletedItems struct {
	Forgotten []string `json:"forgotten"`
	DryRun    bool     `json:"dry_run,omitempty"` // nothing was deleted
}

func newRunsPruneCommand(a *app) *cobra.Command {
	var f runFilterFlags
	var older age
	var dryRun bool
	cmd := &cobra.Command{
		Use: "prune --older-than DURATION",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("older-than") {
				return usagef("--older-than is needed: 90m, 36h or 30d, 0s for all")
			}
			ids, err := a.pruneRuns(&f, time.Duration(older), dryRun)
			if err != nil {
				return err
			}
			text := eval.Count(len(ids), "run") + " deleted\n"
			if dryRun {
				a.printRemark(cmd, eval.Count(len(ids), "run")+" would be deleted")
				text = joinLines(ids)
			}
			return a.printValue(cmd, deletedItems{ids, dryRun}, text)
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().Var(&older, "older-than", "minimum time since the run last changed: 90m, 36h, 30d")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list the runs that would be deleted")
	return addOutput(cmd)
}

// pruneRuns deletes the selected runs that no process drives and returns their ids.
func (a *app) pruneRuns(f *runFilterFlags, older time.Duration, dryRun bool) ([]string, error) {
	if len(f.status.values) == 0 {
		f.status.values = slices.DeleteFunc(slices.Clone(inspect.Statuses), func(s string) bool {
			return s == inspect.Crashed || s == string(machine.Paused) || s == string(machine.Running)
		})
	}
	kept, err := a.openStore()
	if err != nil {
		return nil, err
	}
	f.filter.UpdatedBefore = a.Now().Add(-older)
	runs, err := f.selectRuns(kept)
	ids := []string{}
	for i := range runs {
		if runs[i].Owner != "" {
			continue
		}
		if !dryRun {
			// Another process may have resumed it or deleted it since.
			err := kept.Delete(runs[i].ID)
			if hasType[*store.DrivenError](err) || errors.Is(err, store.ErrNoRun) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		ids = append(ids, runs[i].ID)
	}
	return ids, err
}

// shortPath returns a path below the working folder relative to it, and other paths unchanged.
func shortPath(path string) string {
	dir, _ := os.Getwd() // on an error, no path is below it
	if near, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(near, "..") {
		return near
	}
	return path
}

// shownSteps is the number of trace lines that show prints.
const shownSteps = 40

// recordedRun is a stored run.
type recordedRun struct {
	record store.RunRecord
	runner *runner.Runner
}

// openRecordedRun opens the store read-only and finds a run.
func (a *app) openRecordedRun(id string) (*recordedRun, error) {
	kept, r, err := a.openReader()
	if err != nil {
		return nil, err
	}
	record, err := a.findRun(kept, id)
	return &recordedRun{record, r}, err
}

// addRunReader makes a command open the run that its first argument names and call read.
func (a *app) addRunReader(cmd *cobra.Command, read func(cmd *cobra.Command, r *recordedRun, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := a.openRecordedRun(args[0])
		if err != nil {
			return err
		}
		return read(cmd, r, args[1:])
	}
	return cmd
}

// loadResult returns the run after the step of --at, or as it is now. sink gets its latest events.
func (r *recordedRun) loadResult(cmd *cobra.Command, history bool, sink runner.Sink) (*runner.Result, error) {
	opts := runner.Options{Sink: sink, History: history}
	if !cmd.Flags().Changed("at") {
		result, err := r.runner.Show(r.record.ID, opts)
		return result, r.explainReadError(err)
	}
	at, err := cmd.Flags().GetInt("at")
	if err = cmp.Or(err, checkAt(at)); err != nil {
		return nil, err
	}
	result, err := r.runner.ShowAt(r.record.ID, at, opts)
	if err != nil {
		return nil, r.explainReadError(err)
	}
	if len(result.Path) < at {
		return nil, usagef("--at %d: run %q has taken %s", at, r.record.ID, eval.Count(len(result.Path), "step"))
	}
	return result, nil
}

func (r *recordedRun) explainReadError(err error) error {
	return wrapInputError("run "+r.record.ID+" can't be read", err)
}

// addAtFlag adds --at, for use with loadResult.
func addAtFlag(cmd *cobra.Command) {
	cmd.Flags().Int("at", 0, "show the run as it was after this STEP; 0: before the first (default: as it is now)")
}

func checkAt(at int) error {
	if at < 0 {
		return usagef("--at %d: must be at least 0", at)
	}
	return nil
}

func newRunsShowCommand(a *app) *cobra.Command {
	var history bool
	cmd := a.addRunReader(&cobra.Command{
		Use: "show RUN",
	}, func(cmd *cobra.Command, r *recordedRun, _ []string) error {
		lines := &traceLines{tracer: runview.NewTracer(parseRecordedGraph(&r.record), a.newStdoutColors())}
		var sink runner.Sink = lines
		if outputFormat(cmd) == "json" {
			sink = nil
		}
		result, err := r.loadResult(cmd, history && sink == nil, sink)
		if err != nil {
			return err
		}
		if !history {
			result.History = nil
		}
		return a.printValue(cmd, result, a.formatRun(&r.record, result, lines))
	})
	addAtFlag(cmd)
	cmd.Flags().BoolVar(&history, "history", false, "add every node execution to the JSON result")
	return addOutput(cmd)
}

// traceLines collects the lines of a trace.
type traceLines struct {
	tracer *runview.Tracer
	lines  []string
	whole  bool // includes the start of the run
}

func (t *traceLines) Event(e *runner.Event) error {
	if e.Type == runner.RunStarted {
		t.whole = true
		return nil
	}
	t.lines = append(t.lines, t.tracer.Lines(inspect.WithPlaces(e))...)
	return nil
}

func (a *app) formatRun(record *store.RunRecord, result *runner.Result, trace *traceLines) string {
	c := a.newStdoutColors()
	out := []string{fmt.Sprintf("%s %s of %s (%s), started %s", c.Quiet("run"), c.Strong(record.ID), record.Graph,
		terminal.Line(shortPath(record.File)), runview.FormatTime(record.Started))}
	if notes := formatNotes(&store.RunSummary{RunRecord: *record}); notes != "" {
		out = append(out, c.Quiet(terminal.Line(notes)))
	}
	left := max(0, len(trace.lines)-shownSteps)
	switch {
	case !trace.whole && len(result.Path) > 0:
		out = append(out, c.Quiet(fmt.Sprintf("… more before; graphrun runs events %s has all", record.ID)))
	case left > 0:
		out = append(out, c.Quiet(fmt.Sprintf("… %d lines before; graphrun runs events %s has all", left, record.ID)))
	}
	return joinLines(slices.Concat(out, trace.lines[left:], trace.tracer.Flush(), a.formatSummary(result, c)))
}

func newRunsStateCommand(a *app) *cobra.Command {
	cmd := a.addRunReader(&cobra.Command{
		Use: "state RUN",
	}, func(cmd *cobra.Command, r *recordedRun, _ []string) error {
		result, err := r.loadResult(cmd, false, nil)
		if err != nil {
			return err
		}
		return writeJSON(a.Stdout, result.State, a.StdoutTerminal)
	})
	addAtFlag(cmd)
	return addOutput(cmd, "json")
}

func newRunsEventsCommand(a *app) *cobra.Command {
	var stream enumList
	var follow bool
	cmd := a.addRunReader(&cobra.Command{
		Use: "events RUN",
	}, func(cmd *cobra.Command, r *recordedRun, _ []string) error {
		buffer := bufio.NewWriter(a.Stdout)
		var out io.Writer = buffer
		if follow { // someone reads events as they happen
			out = a.Stdout
		}
		sink := dropHistory(runner.NewJSONSink(out))
		if outputFormat(cmd) == "text" {
			shown := runview.NewPlain(out, runview.NewTracer(parseRecordedGraph(&r.record), a.newStdoutColors()), nil)
			sink = func(e *runner.Event) error {
				shown.Event(e)
				return nil
			}
		}
		opts := runner.Options{Sink: filterEvents(sink, stream.values)}
		if follow {
			ctx, stop := a.cancelOnInterrupt(cmd.Context())
			defer stop()
			_, err := r.runner.Follow(ctx, r.record.ID, opts)
			return mapInterrupt(err)
		}
		_, err := r.runner.Replay(r.record.ID, 0, -1, opts)
		return errors.Join(r.explainReadError(err), buffer.Flush())
	})
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing until the run has ended")
	addOutput(cmd, "jsonl", "text")
	addEnumListFlag(cmd, &stream, listStreams(), "stream", "events to print besides run_* (default: all)")
	return cmd
}

// dropHistory removes the history from the last event, as run does without --history.
func dropHistory(next runner.Sink) runner.SinkFunc {
	return func(e *runner.Event) error {
		if e.Type != runner.RunFinished || e.Result == nil {
			return next.Event(e)
		}
		event, result := *e, *e.Result
		result.History, event.Result = nil, &result
		return next.Event(&event)
	}
}

// stopPoll is the interval at which a stop command polls its run.
const stopPoll = 100 * time.Millisecond

// stopCommand is a call of runs cancel or runs pause.
type stopCommand struct {
	app     *app
	store   store.Store
	id      string
	request store.Request
	noWait  bool
	cmd     *cobra.Command
	asked   string // the driver that was asked last
}

// newStopCommand returns the command runs cancel or runs pause.
func newStopCommand(a *app, request store.Request) *cobra.Command {
	cmd := &cobra.Command{Use: string(request) + " RUN"}
	w := &stopCommand{app: a, request: request, cmd: cmd}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kept, record, err := a.openRun(args[0])
		if err != nil {
			return err
		}
		w.store, w.id = kept, record.ID
		return w.awaitStop(cmd.Context())
	}
	cmd.Flags().BoolVar(&w.noWait, "no-wait", false, "return as soon as the run's driver has been asked")
	return addOutput(cmd)
}

// awaitStop polls the run until it has stopped.
func (w *stopCommand) awaitStop(ctx context.Context) error {
	ctx, stop := w.app.cancelOnInterrupt(ctx)
	defer stop()
	for {
		runs, err := w.store.List(store.RunFilter{ID: w.id})
		if err != nil {
			return err
		} else if len(runs) == 0 {
			return fmt.Errorf("run %q: %w", w.id, store.ErrNoRun)
		}
		settled, err := w.handleStatus(&runs[0])
		if err != nil || settled {
			return err
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			w.app.printNote(fmt.Sprintf("not waiting any more; %s was asked to %s the run", w.asked, w.request))
			return exitWith(exitCancelled)
		}
	}
}

// handleStatus acts on the current status of the run. settled means that nothing is left to do.
func (w *stopCommand) handleStatus(r *store.RunSummary) (settled bool, err error) {
	wanted, could := machine.Cancelled, "be cancelled"
	if w.request == store.RequestPause {
		wanted, could = machine.Paused, "pause"
	}
	owner := r.Owner
	switch {
	case r.Status == wanted:
		return true, w.printStatus(r)
	case r.Status != machine.Running && r.Status != machine.Paused && w.asked == "":
		return true, usagef("run %q has ended already: %s", w.id, r.Status)
	case r.Status != machine.Running && r.Status != machine.Paused:
		return true, fmt.Errorf("run %q ended before it could %s: %s", w.id, could, r.Status)
	case owner == "" && w.request == store.RequestPause:
		return true, usagef("run %q crashed: nothing of it runs that could pause; graphrun resume continues it", w.id)
	case owner == "":
		canceller, err := w.app.newRunner(w.store, node.Options{})
		if err != nil {
			return false, err
		}
		_, err = canceller.Cancel(w.id)
		driven, isDriven := errors.AsType[*store.DrivenError](err)
		if !isDriven {
			return false, wrapInputError("run "+w.id+" was not cancelled", err)
		}
		owner = driven.Owner // another process just resumed it, or a cluster drives it
	}
	if w.asked == owner {
		return false, nil
	}
	if err := w.store.SendRequest(w.id, w.request); err != nil {
		return false, err
	}
	w.asked = owner
	if w.noWait {
		return true, w.printStatus(r)
	}
	w.app.printNote(fmt.Sprintf("asked %s to %s the run", owner, w.request))
	return false, nil
}

func (w *stopCommand) printStatus(r *store.RunSummary) error {
	text := fmt.Sprintf("run %s is %s; graphrun resume continues it", w.id, r.Status)
	if r.Status == machine.Running {
		text = fmt.Sprintf("%s was asked to %s run %s", w.asked, w.request, w.id)
	}
	return w.app.printValue(w.cmd, inspect.ListRuns([]store.RunSummary{*r})[0], text+"\n")
}

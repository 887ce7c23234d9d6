// The show, state and events commands of runs: one run, from its journal.

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// shownSteps is how many of the last trace lines show prints.
const shownSteps = 40

// recorded is a run to look at.
type recorded struct {
	record store.RunRecord
	runner *runner.Runner
}

// lookAt opens the store for reading and finds a run in it.
func (a *app) lookAt(id string) (*recorded, error) {
	kept, err := a.readStore()
	if err != nil {
		return nil, err
	}
	record, err := a.findRun(kept, id)
	if err != nil {
		return nil, err
	}
	r, err := a.newRunner(kept, nil)
	return &recorded{record, r}, err
}

// show returns the run as it was after a step; 0: as it stands, and then the
// sink is told of its latest part only.
func (r *recorded) show(at int, history bool, sink runner.Sink) (*runner.Result, error) {
	opts := runner.Options{Sink: sink, History: history}
	if at < 0 {
		result, err := r.runner.Show(r.record.ID, opts)
		return result, r.unreadable(err)
	}
	result, err := r.runner.ShowAt(r.record.ID, at, opts)
	if err != nil {
		return nil, r.unreadable(err)
	}
	if len(result.Path) < at {
		return nil, usagef("--at %d: run %q has taken %s", at, r.record.ID, terminal.Count(len(result.Path), "step"))
	}
	return result, nil
}

func (r *recorded) unreadable(err error) error {
	return refused("run "+r.record.ID+" can't be read", err)
}

// atFlag adds --at and its check.
func atFlag(cmd *cobra.Command, at *int) {
	cmd.Flags().IntVar(at, "at", 0, "show it as it was after this STEP; 0: before the first (default: as it is now)")
	complete(cmd, "at", nil)
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !cmd.Flags().Changed("at"):
			*at = -1
		case *at < 0:
			return usagef("--at %d: must be at least 0", *at)
		}
		return before(cmd, args)
	}
}

func newRunsShowCommand(a *app) *cobra.Command {
	var at int
	var history bool
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run as it is now, or as it was after a step",
		Long: `show prints the status of a run and its latest steps, also while another process drives
it. -o json prints the object that run prints at its end.`,
		Example:           "  graphrun runs show nightly\n  graphrun runs show nightly --at 3 -o json | jq .state",
		Args:              oneRun,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.lookAt(args[0])
			if err != nil {
				return err
			}
			lines := &traceLines{tracer: runview.NewTracer(recordedGraph(&r.record), runview.NewColors(a.colorOn(a.StdoutTerminal)))}
			asJSON := output.value == "json"
			var sink runner.Sink = lines
			if asJSON {
				sink = nil
			}
			result, err := r.show(at, history && asJSON, sink)
			if err != nil {
				return err
			}
			if asJSON {
				if !history {
					result.History = nil
				}
				return writeJSON(a.Stdout, result, a.StdoutTerminal)
			}
			a.showRun(&r.record, result, lines)
			return nil
		},
	}
	atFlag(cmd, &at)
	cmd.Flags().BoolVar(&history, "history", false, "add every node execution to the JSON result")
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// traceLines keeps the last lines of a trace.
type traceLines struct {
	tracer *runview.Tracer
	lines  []string
	left   int  // how many lines before them are gone
	whole  bool // they begin with the run's beginning
}

// Event keeps what an event adds.
func (t *traceLines) Event(e *runner.Event) error {
	if e.Type == runner.RunStarted {
		t.whole = true
		return nil
	}
	t.lines = append(t.lines, t.tracer.Lines(inspect.Placed(e))...)
	if extra := len(t.lines) - shownSteps; extra > shownSteps {
		t.lines, t.left = append(t.lines[:0], t.lines[extra:]...), t.left+extra
	}
	return nil
}

// last are the lines to show, and how many come before them.
func (t *traceLines) last() (lines []string, left int) {
	extra := max(0, len(t.lines)-shownSteps)
	return t.lines[extra:], t.left + extra
}

// showRun prints a run for a person.
func (a *app) showRun(record *store.RunRecord, result *runner.Result, trace *traceLines) {
	c := runview.NewColors(a.colorOn(a.StdoutTerminal))
	say := func(line string) { fmt.Fprintln(a.Stdout, line) }
	say(fmt.Sprintf("%s %s of %s (%s), started %s", c.Quiet("run"), c.Strong(record.ID), record.Graph,
		terminal.Line(nearPath(record.File)), record.Started.Local().Format(time.DateTime)))
	summary := store.RunSummary{RunRecord: *record}
	if notes := notesOf(&summary); notes != "" {
		say(c.Quiet(terminal.Line(notes)))
	}
	lines, left := trace.last()
	switch {
	case !trace.whole && len(result.Path) > 0:
		say(c.Quiet(fmt.Sprintf("… more before; graphrun runs events %s has all", record.ID)))
	case left > 0:
		say(c.Quiet(fmt.Sprintf("… %d lines before; graphrun runs events %s has all", left, record.ID)))
	}
	for _, line := range append(lines, trace.tracer.Flush()...) {
		say(line)
	}
	for _, line := range a.summary(result, c) {
		say(line)
	}
}

func newRunsStateCommand(a *app) *cobra.Command {
	var at int
	output := newEnum("json", "json")
	cmd := &cobra.Command{
		Use:               "state RUN",
		Short:             "Print a run's state as JSON",
		Long:              "state prints the state of a run as one JSON object; secret keys are masked.",
		Example:           "  graphrun runs state nightly --at 3 | jq .draft",
		Args:              oneRun,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.lookAt(args[0])
			if err != nil {
				return err
			}
			result, err := r.show(at, false, nil)
			if err != nil {
				return err
			}
			return writeJSON(a.Stdout, result.State, a.StdoutTerminal)
		},
	}
	atFlag(cmd, &at)
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format; there is only one")
	return cmd
}

func newRunsEventsCommand(a *app) *cobra.Command {
	var stream enumList
	var follow bool
	output := newEnum("jsonl", "jsonl", "text")
	stream.allowed = streamNames()
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Print the events of a run as JSON lines",
		Long: `events prints the events of a run so far, one JSON object per line, as run -o jsonl
printed them. They come from the journal, which keeps what decides the run, but not
streamed text and progress.

--follow keeps printing until the run has ended. It also waits for a run that is paused
or crashed, since somebody may resume it.`,
		Example: `  graphrun runs events nightly | jq 'select(.event == "edges_resolved")'
  graphrun runs events nightly --follow -o text`,
		Args:              oneRun,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.lookAt(args[0])
			if err != nil {
				return err
			}
			out := newEventWriter(a.Stdout, streamFilter(stream.values))
			var sink runner.Sink = briefEnd{out}
			if output.value == "text" {
				tracer := runview.NewTracer(recordedGraph(&r.record), runview.NewColors(a.colorOn(a.StdoutTerminal)))
				sink = filteredSink{viewSink{runview.NewPlain(a.Stdout, tracer, nil)}, streamFilter(stream.values)}
			}
			if follow {
				err = a.follow(cmd.Context(), r, sink)
			} else {
				_, err = r.runner.ReplayEvents(r.record.ID, runner.Options{Sink: sink})
				err = r.unreadable(err)
			}
			return errors.Join(err, out.close())
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing until the run has ended")
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	cmd.Flags().Var(&stream, "stream", "events to print besides run_* (default: all)")
	complete(cmd, "stream", stream.allowed)
	return cmd
}

// filteredSink passes some events on.
type filteredSink struct {
	next runner.Sink
	keep func(runner.EventType) bool
}

// Event passes an event on if it is wanted.
func (s filteredSink) Event(e *runner.Event) error {
	if s.keep != nil && !s.keep(e.Type) {
		return nil
	}
	return s.next.Event(e)
}

// viewSink shows events to a person.
type viewSink struct{ view runview.View }

// Event shows an event.
func (s viewSink) Event(e *runner.Event) error {
	s.view.Event(e)
	return nil
}

// follow tells what happens in a run until it has ended, or an interrupt.
func (a *app) follow(ctx context.Context, r *recorded, sink runner.Sink) error {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	_, err := r.runner.Follow(ctx, r.record.ID, runner.Options{Sink: sink})
	if errors.Is(err, context.Canceled) {
		return silent(exitCancelled)
	}
	return err
}

// summary is a run's end for a person, with how to go on.
func (a *app) summary(r *runner.Result, c runview.Colors) []string {
	lines := summary(r, c)
	if next := a.next(r); next != "" {
		lines = append(lines, "  "+next)
	}
	return lines
}

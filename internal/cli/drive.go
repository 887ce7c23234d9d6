// The code that run, resume and fork share: flags, session, interrupts, and output of events and results.

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/cli/telemetry"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

// driveFlags are the flags of commands that drive a run.
type driveFlags struct {
	opts    runner.Options
	noInput bool
	quiet   bool
	strict  bool
	output  enum
	trace   string
	stream  enumList
	// tape records or plays answers, or is nil. A recording is saved as record.
	tape   *cassette.Cassette
	record string
}

// addDriveFlags adds the flags of commands that drive a run. of finds its graph, for completion.
func addDriveFlags(cmd *cobra.Command, f *driveFlags, of graphOf) {
	f.output = newEnum("text", "json", "jsonl", "text")
	flags := cmd.Flags()
	flags.IntVar(&f.opts.MaxSteps, "max-steps", 0, "maximum number of node executions; replaces the graph's limit")
	flags.DurationVar(&f.opts.Timeout, "timeout", 0, "maximum active time, for example 90s or 10m; replaces the graph's limit")
	flags.IntVar(&f.opts.MaxConcurrency, "max-concurrency", 0, "maximum number of nodes that run at once; replaces the graph's limit")
	flags.IntVar(&f.opts.MaxStateBytes, "max-state-bytes", 0, "maximum size of the state and of each value in bytes; replaces the graph's limit")
	addParkFlag(cmd, f)
	f.opts.Answers = map[string][]string{}
	addAnswer := func(target, value string) { f.opts.Answers[target] = append(f.opts.Answers[target], value) }
	flags.Var(newPairFlag("NODE=VALUE", addAnswer), "answer", "NODE=VALUE: an answer: text, YAML or JSON, or the first letters of a choice;\nrepeatable, also for a node that asks more than once. NODE:KEY=VALUE answers\na program, NODE[0]=VALUE the first element of an each, OUTER/INNER=VALUE\na node in a subgraph")
	flags.StringArrayVar(&f.opts.PauseBefore, "pause-before", nil, "NODE to pause before, OUTER/INNER in a subgraph; repeatable")
	flags.StringArrayVar(&f.opts.PauseAfter, "pause-after", nil, "NODE to pause after, OUTER/INNER in a subgraph; repeatable")
	flags.BoolVar(&f.noInput, "no-input", false, "never ask on the terminal")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "hide the steps: print only the output, and on stderr how the run ended if it\ndid not complete")
	flags.BoolVar(&f.strict, "strict", false, "exit 1 when the run completed but degraded")
	flags.BoolVar(&f.opts.History, "history", false, "add every node execution to the JSON result")
	addEnumFlag(cmd, flags, &f.output, "output", "o", "output format: json is one object at the end,\njsonl one event per line as they happen")
	flags.StringVar(&f.trace, "trace", "", "FILE to write every event to, as JSON lines")
	addEnumListFlag(cmd, &f.stream, listStreams(), "stream", "events that jsonl prints besides run_*: "+strings.Join(listStreams(), ", ")+"\n(default: all)")
	completeFlag(cmd, "pause-before", nodeCandidates(of, "", ""))
	completeFlag(cmd, "pause-after", nodeCandidates(of, "", ""))
	completeFlag(cmd, "answer", nodeCandidates(of, "human", "="))
	markSettings(flags, "max-steps", "timeout", "max-concurrency", "max-state-bytes", "no-input", "strict", "history", "output", "stream")
}

func addParkFlag(cmd *cobra.Command, f *driveFlags) {
	cmd.Flags().DurationVar(&f.opts.Park, "park", 0, "end the process with exit code 10 if the run only waits for longer than this;\ngraphrun resume --due continues it when it is due")
	markSettings(cmd.Flags(), "park")
}

// checkRanges returns an error for each flag that is out of range, joined with more.
func (f *driveFlags) checkRanges(cmd *cobra.Command, more ...error) error {
	require := func(name string, ok bool, want string) {
		if cmd.Flags().Changed(name) && !ok {
			more = append(more, usagef("--%s %s: must be %s", name, cmd.Flag(name).Value, want))
		}
	}
	require("max-steps", f.opts.MaxSteps >= 1, "at least 1")
	require("max-concurrency", f.opts.MaxConcurrency >= 1, "at least 1")
	require("max-state-bytes", f.opts.MaxStateBytes >= 1, "at least 1")
	require("timeout", f.opts.Timeout > 0, "more than 0")
	require("park", f.opts.Park >= 0, "at least 0s")
	if cmd.Flags().Changed("park") {
		f.opts.Park = max(f.opts.Park, 1) // 0 would be never
	}
	return asUsageError(errors.Join(more...))
}

// session drives one run for a command.
type session struct {
	app    *app
	flags  *driveFlags
	runner *runner.Runner
	kill   chan struct{} // closed to kill running programs
	out    *runOutput
}

// newSession makes a session for a run of a graph, and prints notes about it.
func (a *app) newSession(kept store.Store, g *spec.Graph, f *driveFlags, notes ...string) (s *session, err error) {
	s = &session{app: a, flags: f, kill: make(chan struct{})}
	if s.runner, err = a.newRunner(kept, node.Options{Kill: s.kill, Cassette: f.tape, Thinking: slices.Contains(f.stream.values, "thinking")}); err != nil {
		return nil, err
	}
	if s.out, err = a.newRunOutput(g, f); err != nil {
		return nil, err
	}
	for _, text := range notes {
		s.out.printNote(text)
	}
	return s, nil
}

// newRunner makes a runner with graphrun's node kinds.
func (a *app) newRunner(kept store.Store, opts node.Options) (*runner.Runner, error) {
	exporter, err := a.openTelemetry()
	if err != nil {
		return nil, err
	}
	var watch runner.Sink
	if exporter != nil {
		watch = exporter
	}
	return runner.New(runner.Config{
		Watch: watch, Kinds: exporter.WrapKinds(node.Kinds(opts)), Store: kept, Owner: sqlite.ThisProcess(), Decider: node.NewDecider(opts), Clock: a.clock,
		Notifier: &runner.Notifier{Send: node.NewNotifier(opts), Always: a.notify},
	})
}

// openTelemetry returns the exporter to OpenTelemetry, or nil. Main closes it.
func (a *app) openTelemetry() (_ *telemetry.Telemetry, err error) {
	if a.exporter == nil {
		a.exporter, err = telemetry.FromEnv(readBuildVersion().Version, a.printNote)
	}
	return a.exporter, asUsageError(err)
}

// printNote prints a line on stderr.
func (a *app) printNote(text string) { fmt.Fprintln(a.Stderr, "graphrun: "+text) }

// cancelling is the note after the first interrupt of a run.
const cancelling = "cancelling: running nodes have 5 seconds to end; interrupt again to end at once"

// killTime bounds how long killed programs may take to end.
const killTime = time.Second

// watchSignals delivers interrupts until stop is called.
func (a *app) watchSignals() (c <-chan os.Signal, stop func()) {
	if a.Notify == nil {
		return nil, func() {}
	}
	both := make(chan os.Signal, 2) // the first two must not be lost
	return both, a.Notify(both)
}

// cancelOnInterrupt returns a context that ends with the first interrupt.
func (a *app) cancelOnInterrupt(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, stopSignals := a.watchSignals()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		stopSignals()
	}
}

// mapInterrupt maps a cancelled context to the exit code of an interrupt.
func mapInterrupt(err error) error {
	if errors.Is(err, context.Canceled) {
		return exitWith(exitCancelled)
	}
	return err
}

// runUntilInterrupted calls work. The first interrupt calls stopping and cancels the context of work;
// the second closes kill, and the call returns within killTime.
func runUntilInterrupted[T any](
	ctx context.Context, a *app, stopping func(), kill chan struct{}, work func(context.Context) (T, error),
) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals, stop := a.watchSignals()
	defer stop()
	var result, none T
	var err error
	done := make(chan struct{})
	go func() {
		result, err = work(ctx)
		close(done)
	}()
	select {
	case <-done:
		return result, err
	case sig := <-signals:
		stopping()
		cancel(errors.New("cancelled by " + sig.String()))
	}
	select {
	case <-done:
		return result, err
	case <-signals:
		close(kill)
	}
	select {
	case <-done:
		return result, err
	case <-time.After(killTime):
		a.store.abandoned = true
		return none, exitWith(exitCancelled) // work may still write result
	}
}

// driveRun calls work, which drives a run, and handles interrupts.
func (s *session) driveRun(
	ctx context.Context, opts *runner.Options, work func(ctx context.Context) (*runner.Result, error),
) (*runner.Result, error) {
	a := s.app
	opts.By = currentUser()
	if s.out.view != nil || len(s.out.writers) > 0 {
		opts.Sink = s.out
	}
	opts.Warn = s.out.newWarner()
	if s.out.view != nil {
		opts.OnLogLine = s.out.view.Listener()
	}
	if a.StdinTerminal && a.StderrTerminal && !s.flags.noInput {
		opts.Ask = runview.NewAsker(a.Stdin, a.Stderr, s.out.colors, a.Columns, s.out.stopPrinting).ReadAnswer
	}
	return runUntilInterrupted(ctx, a, func() { s.out.printNote(cancelling) }, s.kill, work)
}

// finishRun prints the result and returns the error for its exit code.
func (s *session) finishRun(result *runner.Result, err error) error {
	closeErr := s.out.close()
	if s.flags.record != "" {
		closeErr = errors.Join(closeErr, s.flags.tape.Save(s.flags.record))
	}
	if err != nil {
		if result != nil && s.out.format == "json" { // readers of stdout expect an object
			err = errors.Join(err, writeJSON(s.app.Stdout, result, s.app.StdoutTerminal))
		}
		return err
	}
	if err := s.out.printResult(result); err != nil {
		return err
	}
	if closeErr != nil {
		return closeErr
	}
	return exitWith(result.ExitCode(s.flags.strict))
}

// suggestNext returns the last line of a run: the commands that may follow, or "".
func (a *app) suggestNext(r *runner.Result) string {
	if a.storePath() != "" || a.usesCluster() {
		return runview.SuggestNext(r, a.formatStoreFlag())
	}
	if r.Status == machine.Paused {
		return "the run is lost with this process: it was kept in memory"
	}
	return ""
}

// formatStoreFlag returns the flag that other commands need to find the run, or "".
func (a *app) formatStoreFlag() string {
	if a.usesCluster() {
		return " --engine " + engineTemporal
	}
	if a.store.path == "" {
		return ""
	}
	return " --store " + runview.QuoteForShell(a.store.path)
}

// runOutput is the sink of a run: a view on stderr, JSON lines on stdout and in the trace file.
type runOutput struct {
	app     *app
	format  string
	stream  []string      // event groups that jsonl prints, all if empty
	view    *runview.View // nil with --quiet or JSON
	colors  terminal.Colors
	writers []runner.Sink
	closers []func() error // flush and close the outputs of writers
}

func (a *app) newRunOutput(g *spec.Graph, f *driveFlags) (*runOutput, error) {
	o := &runOutput{app: a, format: f.output.value, stream: f.stream.values, colors: terminal.NewColors(a.usesColor(a.StderrTerminal))}
	if f.trace != "" {
		file, err := os.OpenFile(f.trace, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, usagef("--trace: %w", err)
		}
		o.addWriter(file, nil)
		o.closers = append(o.closers, file.Close)
	}
	if o.format == "jsonl" {
		o.addWriter(a.Stdout, f.stream.values)
	}
	tracer := runview.NewTracer(g, o.colors)
	switch {
	case f.quiet:
	case o.format == "jsonl" && a.StdoutTerminal: // the events are the view
	case a.StderrTerminal && os.Getenv("TERM") != "dumb":
		o.view = runview.NewLive(a.Stderr, a.Now, a.Columns, tracer)
	case o.format == "text":
		o.view = runview.NewPlain(a.Stderr, tracer, a.clock.AfterFunc)
	}
	return o, nil
}

// addWriter writes the events of some groups, or all without groups, to w as JSON lines.
func (o *runOutput) addWriter(w io.Writer, groups []string) {
	lines := &lineWriter{out: bufio.NewWriterSize(w, 64<<10)}
	o.writers = append(o.writers, filterEvents(runner.NewJSONSink(lines), groups))
	o.closers = append(o.closers, lines.flush)
}

// newWarner returns a function that prints warnings, or nil if the shown events include them.
func (o *runOutput) newWarner() func(node, message string) {
	if o.view != nil || o.isShown(runner.NodeEvent) {
		return nil
	}
	return func(node, message string) {
		if node != "" { // empty for a warning of the run
			node += ": "
		}
		o.printNote("warning: " + node + terminal.Line(message))
	}
}

func (o *runOutput) Event(e *runner.Event) error {
	if o.view != nil {
		o.view.Event(e)
	}
	for _, w := range o.writers {
		if err := w.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// isShown reports whether events of a type go to stdout.
func (o *runOutput) isShown(t runner.EventType) bool {
	return o.format == "jsonl" && isInGroups(t, o.stream)
}

// stopPrinting stops drawing until release is called, so that a question can use the terminal.
func (o *runOutput) stopPrinting() (release func()) {
	if o.view != nil {
		return o.view.StopPrinting()
	}
	return func() {}
}

func (o *runOutput) printNote(text string) {
	if o.view != nil {
		o.view.Note(text)
		return
	}
	o.app.printNote(text)
}

// close ends the view and the trace, and writes the remaining events.
func (o *runOutput) close() error {
	if o.view != nil {
		o.view.Close()
	}
	var failed error
	for _, closeWriter := range o.closers {
		failed = errors.Join(failed, closeWriter())
	}
	return failed
}

// printResult prints the output on stdout and a summary on stderr.
func (o *runOutput) printResult(r *runner.Result) error {
	a := o.app
	if o.view != nil {
		columns := 0 // unlimited in a log
		if a.StderrTerminal {
			columns = a.Columns()
		}
		shown := *r
		if o.format == "text" {
			shown.State = dropOutput(r)
		}
		for _, line := range a.formatSummary(&shown, o.colors) {
			for _, part := range terminal.Wrap(line, columns, 4) {
				fmt.Fprintln(a.Stderr, part)
			}
		}
	} else if r.Status != machine.Completed {
		a.printNote(runview.FormatHeadline(r))
		if next := a.suggestNext(r); next != "" {
			fmt.Fprintf(a.Stderr, "  %s\n", next)
		}
	}
	switch o.format {
	case "json":
		return writeJSON(a.Stdout, r, a.StdoutTerminal)
	case "text":
		return o.printOutput(r.Output)
	}
	return nil
}

// dropOutput returns the state without the values that are printed as the output.
func dropOutput(r *runner.Result) map[string]any {
	object, _ := r.Output.(map[string]any)
	out := maps.Clone(r.State)
	maps.DeleteFunc(out, func(key string, value any) bool {
		return value != nil && (reflect.DeepEqual(value, r.Output) || reflect.DeepEqual(value, object[key]))
	})
	return out
}

// formatSummary describes the end of a run and the commands that may follow.
func (a *app) formatSummary(r *runner.Result, c terminal.Colors) []string {
	lines := runview.Summarize(r, c)
	if next := a.suggestNext(r); next != "" {
		lines = append(lines, "  "+next)
	}
	return lines
}

// printOutput prints the output of a run: text unchanged, other values as JSON, null not at all.
func (o *runOutput) printOutput(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if o.app.StdoutTerminal {
			v = terminal.Text(v)
		}
		_, err := fmt.Fprintln(o.app.Stdout, v)
		return err
	}
	return writeJSON(o.app.Stdout, v, true)
}

// filterEvents returns a sink that forwards only the events of some groups, or all without groups.
func filterEvents(next runner.Sink, groups []string) runner.Sink {
	return runner.SinkFunc(func(e *runner.Event) error {
		if !isInGroups(e.Type, groups) {
			return nil
		}
		return next.Event(e)
	})
}

// eventGroups maps the event groups of --stream to the beginnings of their events' types.
var eventGroups = map[string][]string{
	"checkpoints": {string(runner.Checkpoint)},
	"custom":      {string(runner.NodeEvent)},
	"debug":       {"node_", "branches_", string(runner.ToolCalled), string(runner.Checkpoint)},
	"messages":    {string(runner.NodeOutput), string(runner.LLMUsage)},
	"tasks":       {"node_", "branches_", string(runner.ToolCalled)},
	"thinking":    {string(runner.NodeThinking)},
	"updates":     {string(runner.StateUpdated), string(runner.EdgesResolved)},
}

func listStreams() []string { return slices.Sorted(maps.Keys(eventGroups)) }

// isInGroups reports whether one of the groups includes a type of events. Events of the run and
// an empty list always match.
func isInGroups(t runner.EventType, groups []string) bool {
	begins := func(s string) bool { return strings.HasPrefix(string(t), s) }
	return len(groups) == 0 || begins("run_") ||
		slices.ContainsFunc(groups, func(group string) bool { return slices.ContainsFunc(eventGroups[group], begins) })
}

// flushDelay is the longest time an event waits in the buffer.
const flushDelay = 20 * time.Millisecond

// lineWriter buffers lines and flushes them soon: a system call for each event would make
// a run of fast steps take 1.8 times as long.
type lineWriter struct {
	mu    sync.Mutex // guards the fields below, since the timer flushes from its own goroutine
	out   *bufio.Writer
	timer *time.Timer // nil if everything is flushed
	err   error       // the first error
}

// Write writes whole lines. After an error it writes no more.
func (w *lineWriter) Write(lines []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, w.err = w.out.Write(lines)
	if w.timer == nil {
		w.timer = time.AfterFunc(flushDelay, func() { _ = w.flush() }) // Write and close return the error
	}
	return n, w.err
}

func (w *lineWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}

// What run, resume and fork share: flags, runner, store, questions, interrupts, result.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/telemetry"
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
	maxSteps       int
	timeout        time.Duration
	maxConcurrency int
	maxStateBytes  int
	answers        []string
	pauseBefore    []string
	pauseAfter     []string
	noInput        bool
	quiet          bool
	strict         bool
	history        bool
	park           time.Duration
	parks          bool // --park was given
	output         enum
	trace          string
	stream         enumList
	// tape records or plays answers, or is nil; it is saved as record.
	tape   *cassette.Cassette
	record string
}

// addDriveFlags adds the flags of commands that drive a run. of finds its graph, for completion.
func addDriveFlags(cmd *cobra.Command, f *driveFlags, of graphOf) {
	f.output = newEnum("text", "json", "jsonl", "text")
	flags := cmd.Flags()
	flags.IntVar(&f.maxSteps, "max-steps", 0, "most node executions; replaces the graph's limit")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest active time, for example 90s or 10m; replaces the graph's limit")
	flags.IntVar(&f.maxConcurrency, "max-concurrency", 0, "most nodes that run at once; replaces the graph's limit")
	flags.IntVar(&f.maxStateBytes, "max-state-bytes", 0, "most bytes for the state and for each value; replaces the graph's limit")
	addParkFlag(cmd, f)
	flags.StringArrayVar(&f.answers, "answer", nil, "NODE=VALUE: an answer: text, YAML or JSON, or the first letters of a choice;\nrepeatable, also for a node that asks more than once. NODE:KEY=VALUE answers\na program, NODE[0]=VALUE the first element of an each, OUTER/INNER=VALUE\na node in a subgraph")
	flags.StringArrayVar(&f.pauseBefore, "pause-before", nil, "NODE to pause before, OUTER/INNER in a subgraph; repeatable")
	flags.StringArrayVar(&f.pauseAfter, "pause-after", nil, "NODE to pause after, OUTER/INNER in a subgraph; repeatable")
	flags.BoolVar(&f.noInput, "no-input", false, "never ask on the terminal")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "hide the steps: print only the output, and on stderr how the run ended unless\nit completed")
	flags.BoolVar(&f.strict, "strict", false, "exit 1 when the run completed but degraded")
	flags.BoolVar(&f.history, "history", false, "add every node execution to the JSON result")
	enumFlag(cmd, flags, &f.output, "output", "o", "output format: json is one object at the end,\njsonl one event per line as they happen")
	flags.StringVar(&f.trace, "trace", "", "FILE to write every event to, as JSON lines")
	enumListFlag(cmd, &f.stream, streamNames(), "stream", "events that jsonl prints besides run_*: "+strings.Join(streamNames(), ", ")+"\n(default: all)")
	completeFlag(cmd, "pause-before", nodesOf(of, "", ""))
	completeFlag(cmd, "pause-after", nodesOf(of, "", ""))
	completeFlag(cmd, "answer", nodesOf(of, "human", "="))
	setting(flags, "max-steps", "timeout", "max-concurrency", "max-state-bytes", "no-input", "strict", "history", "output", "stream")
}

func addParkFlag(cmd *cobra.Command, f *driveFlags) {
	cmd.Flags().DurationVar(&f.park, "park", 0, "end the process with exit code 10 if the run only waits for longer than this;\ngraphrun resume --due continues it when its time has come")
	setting(cmd.Flags(), "park")
}

// check refuses values that are out of range.
func (f *driveFlags) check(cmd *cobra.Command, more ...error) error {
	problems := slices.DeleteFunc(more, func(err error) bool { return err == nil })
	atLeast := func(name string, ok bool, want string) {
		if cmd.Flags().Changed(name) && !ok {
			problems = append(problems, usagef("--%s %s: must be %s", name, cmd.Flag(name).Value, want))
		}
	}
	atLeast("max-steps", f.maxSteps >= 1, "at least 1")
	atLeast("max-concurrency", f.maxConcurrency >= 1, "at least 1")
	atLeast("max-state-bytes", f.maxStateBytes >= 1, "at least 1")
	atLeast("timeout", f.timeout > 0, "more than 0")
	atLeast("park", f.park >= 0, "at least 0s")
	f.parks = cmd.Flags().Changed("park")
	return usageErrors(problems)
}

// options returns the settings of a run that the flags choose.
func (f *driveFlags) options() (runner.Options, error) {
	opts := runner.Options{
		MaxSteps: f.maxSteps, Timeout: f.timeout, MaxConcurrency: f.maxConcurrency, MaxStateBytes: f.maxStateBytes, History: f.history,
		PauseBefore: f.pauseBefore, PauseAfter: f.pauseAfter, Answers: map[string][]string{},
	}
	if f.parks {
		opts.Park = max(f.park, 1) // 0 would be never
	}
	for _, answer := range f.answers {
		target, value, ok := strings.Cut(answer, "=")
		if !ok || target == "" {
			return opts, usagef("--answer %q: want NODE=VALUE", answer)
		}
		opts.Answers[target] = append(opts.Answers[target], value)
	}
	return opts, nil
}

// session is one drive of a run.
type session struct {
	app    *app
	flags  *driveFlags
	runner *runner.Runner
	kill   chan struct{}
	out    *runOutput
}

// newSession makes a session for a run of a graph.
func (a *app) newSession(kept store.Store, g *spec.Graph, f *driveFlags) (s *session, err error) {
	s = &session{app: a, flags: f, kill: make(chan struct{})}
	if s.runner, err = a.newRunner(kept, node.Options{Kill: s.kill, Cassette: f.tape, Thinking: slices.Contains(f.stream.values, "thinking")}); err != nil {
		return nil, err
	}
	s.out, err = a.newRunOutput(g, f)
	return s, err
}

// newRunner makes a runner with graphrun's node kinds.
func (a *app) newRunner(kept store.Store, opts node.Options) (*runner.Runner, error) {
	told, err := a.telemetry()
	if err != nil {
		return nil, err
	}
	var watch runner.Sink
	if told != nil {
		watch = told
	}
	return runner.New(runner.Config{
		Watch: watch, Kinds: told.Kinds(node.Kinds(opts)), Store: kept, Owner: sqlite.ThisProcess(), Decider: node.NewDecider(opts), Clock: a.clock,
		Notifier: &runner.Notifier{Send: node.Notify(opts), Always: a.always},
	})
}

// telemetry returns the exporter to OpenTelemetry, or nil. Main closes it.
func (a *app) telemetry() (*telemetry.Telemetry, error) {
	if a.told == nil {
		told, err := telemetry.FromEnv(readBuildVersion().Version, a.note)
		if err != nil {
			return nil, usage(err)
		}
		a.told = told
	}
	return a.told, nil
}

// note prints a remark on stderr.
func (a *app) note(text string) { fmt.Fprintln(a.Stderr, "graphrun: "+text) }

// cancelling is what the first interrupt of a run says.
const cancelling = "cancelling: what runs has 5 seconds to end; interrupt again to end at once"

// killTime bounds how long killed programs may take to end.
const killTime = time.Second

// interrupted is why a run was cancelled.
type interrupted struct{ signal os.Signal }

func (e *interrupted) Error() string { return "cancelled by " + e.signal.String() }

// signals delivers interrupts until stop is called.
func (a *app) signals() (c <-chan os.Signal, stop func()) {
	if a.Notify == nil {
		return nil, func() {}
	}
	both := make(chan os.Signal, 2) // the first two must not be lost
	return both, a.Notify(both)
}

// interruptible returns a context that the first interrupt cancels.
func (a *app) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, stopSignals := a.signals()
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

// interruptedAs maps a cancelled context to the exit code of an interrupt.
func interruptedAs(err error) error {
	if errors.Is(err, context.Canceled) {
		return silent(exitCancelled)
	}
	return err
}

// untilInterrupted calls do. The first interrupt calls stopping and cancels the context of do; the
// second closes kill, and the call returns within killTime.
func untilInterrupted[T any](ctx context.Context, a *app, stopping func(), kill chan struct{}, do func(context.Context) T) (result T, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals, stop := a.signals()
	defer stop()
	done := make(chan T, 1)
	go func() { done <- do(ctx) }()
	select {
	case result = <-done:
		return result, nil
	case sig := <-signals:
		stopping()
		cancel(&interrupted{sig})
	}
	select {
	case result = <-done:
		return result, nil
	case <-signals:
		close(kill)
	}
	select {
	case result = <-done:
		return result, nil
	case <-time.After(killTime):
		a.store.abandoned = true
		return result, silent(exitCancelled)
	}
}

// drive calls do, which drives a run, and handles interrupts.
func (s *session) drive(
	ctx context.Context, opts *runner.Options, do func(ctx context.Context) (*runner.Result, error),
) (*runner.Result, error) {
	a := s.app
	opts.By = currentUser()
	if s.out.view != nil || len(s.out.writers) > 0 {
		opts.Sink = s.out
	}
	opts.Warn = s.out.warn()
	if s.out.view != nil {
		opts.Heard = s.out.view.Listener()
	}
	if a.StdinTerminal && a.StderrTerminal && !s.flags.noInput {
		opts.Ask = runview.NewAsker(a.Stdin, a.Stderr, s.out.colors, a.Columns, s.out.hold).Ask
	}
	type outcome struct {
		result *runner.Result
		err    error
	}
	o, err := untilInterrupted(ctx, a, func() { s.out.note(cancelling) }, s.kill, func(ctx context.Context) (o outcome) {
		o.result, o.err = do(ctx)
		return o
	})
	return o.result, errors.Join(o.err, err)
}

// finish prints the result and returns the error for its exit code.
func (s *session) finish(result *runner.Result, err error) error {
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
	if err := s.out.result(result); err != nil {
		return err
	}
	if closeErr != nil {
		return closeErr
	}
	return silent(result.ExitCode(s.flags.strict))
}

// next returns the last line of a run: the commands that may follow, or "".
func (a *app) next(r *runner.Result) string {
	if a.storePath() != "" || a.onCluster() {
		return runview.SuggestNext(r, a.storeHint())
	}
	if r.Status == machine.Paused {
		return "the run is lost with this process: it was kept in memory"
	}
	return ""
}

// storeHint returns the flag that other commands need to find the run, or "".
func (a *app) storeHint() string {
	if a.onCluster() {
		return " --engine " + engineTemporal
	}
	if a.store.path == "" {
		return ""
	}
	return " --store " + runview.QuoteForShell(a.store.path)
}

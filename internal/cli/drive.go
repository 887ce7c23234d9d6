// What run, resume and fork share: flags, a runner with a store, a person to
// ask, interrupts, the report at the end.

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/telemetry"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

// driveFlags are the flags of everything that drives a run.
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
	// tape records or plays answers, and is saved as record; nil: neither.
	tape   *cassette.Cassette
	record string
}

// addDriveFlags adds the flags of commands that drive a run of the graph that of finds.
func addDriveFlags(cmd *cobra.Command, f *driveFlags, of graphOf) {
	f.output = newEnum("text", "json", "jsonl", "text")
	f.stream.allowed = streamNames()
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
	flags.Var(&f.stream, "stream", "events that jsonl prints besides run_*: "+strings.Join(f.stream.allowed, ", ")+"\n(default: all)")
	complete(cmd, "stream", f.stream.allowed)
	for _, name := range []string{"max-steps", "timeout", "max-concurrency", "max-state-bytes"} {
		complete(cmd, name, nil)
	}
	completeDrive(cmd, of)
	setting(flags, "max-steps", "timeout", "max-concurrency", "max-state-bytes", "no-input", "strict", "history", "output", "stream")
}

// addParkFlag adds --park.
func addParkFlag(cmd *cobra.Command, f *driveFlags) {
	cmd.Flags().DurationVar(&f.park, "park", 0, "end the process with exit code 10 if the run only waits for longer than this;\ngraphrun resume --due continues it when its time has come")
	complete(cmd, "park", nil)
	setting(cmd.Flags(), "park")
}

// problems are the values that no run can have.
func (f *driveFlags) problems(cmd *cobra.Command) (problems []error) {
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
	return problems
}

// options are the settings of a run that the flags name.
func (f *driveFlags) options(g *spec.Graph) (runner.Options, error) {
	opts := runner.Options{
		MaxSteps: f.maxSteps, Timeout: f.timeout, MaxConcurrency: f.maxConcurrency, MaxStateBytes: f.maxStateBytes, History: f.history,
		PauseBefore: f.pauseBefore, PauseAfter: f.pauseAfter, Answers: map[string][]string{},
	}
	if f.parks {
		opts.Park = max(f.park, 1) // 0 would be never
	}
	var problems []error
	check := func(flag, path string, human bool) {
		if err := checkNode(g, path, human); err != nil && (flag != "answer" || !begins(g, path)) {
			problems = append(problems, usagef("--%s: %w", flag, err))
		}
	}
	for _, id := range f.pauseBefore {
		check("pause-before", id, false)
	}
	for _, id := range f.pauseAfter {
		check("pause-after", id, false)
	}
	for _, answer := range f.answers {
		target, value, ok := strings.Cut(answer, "=")
		if !ok || target == "" {
			problems = append(problems, usagef("--answer %q: want NODE=VALUE", answer))
			continue
		}
		path, _, hasKey := strings.Cut(target, ":")
		check("answer", path, !hasKey)
		opts.Answers[target] = append(opts.Answers[target], value)
	}
	if len(problems) > 0 {
		return opts, usage(errors.Join(problems...))
	}
	return opts, nil
}

// checkNode says what is wrong with the name of a node, or of the first on the
// path to one in a subgraph: the runner, which knows the subgraphs, checks the
// rest. human asks for one where a person answers.
func checkNode(g *spec.Graph, path string, human bool) error {
	id, _, nested := strings.Cut(path, "/")
	id, _, _ = strings.Cut(id, "[")
	human = human && !nested
	var names []string
	for _, n := range g.Nodes {
		if !human || n.Kind.Value == "human" {
			names = append(names, n.ID.Value)
		}
	}
	if slices.Contains(names, id) {
		return nil
	}
	slices.Sort(names)
	what := "no node"
	if human {
		what = "no human node"
		if len(names) == 0 {
			return fmt.Errorf("%s %q: the graph has none", what, id)
		}
	}
	if near := suggest.New(names).Closest(id); near != "" {
		return fmt.Errorf("%s %q; did you mean %q?", what, id, near)
	}
	return fmt.Errorf("%s %q (nodes: %s)", what, id, strings.Join(names, ", "))
}

// begins says whether nodes begin as the first on the path: for an answer that will
// do, and the runner says so where it will not.
func begins(g *spec.Graph, path string) bool {
	id, _, _ := strings.Cut(path, "/")
	id, _, _ = strings.Cut(id, "[")
	return id != "" && slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return strings.HasPrefix(n.ID.Value, id) && n.ID.Value != id })
}

// session is one drive of a run.
type session struct {
	app    *app
	flags  *driveFlags
	runner *runner.Runner
	kill   chan struct{}
	out    *runOutput
}

// newSession makes what drives a run of a graph.
func (a *app) newSession(kept store.Store, g *spec.Graph, f *driveFlags) (s *session, err error) {
	s = &session{app: a, flags: f, kill: make(chan struct{})}
	if s.runner, err = a.runnerOf(kept, node.Options{Kill: s.kill, Cassette: f.tape, Thinking: slices.Contains(f.stream.values, "thinking")}, a.clock); err != nil {
		return nil, err
	}
	s.out, err = a.newRunOutput(g, f)
	return s, err
}

// newRunner makes a runner with graphrun's own node kinds, whose programs end
// at once when kill is closed.
func (a *app) newRunner(kept store.Store, kill <-chan struct{}) (*runner.Runner, error) {
	return a.runnerOf(kept, node.Options{Kill: kill}, a.clock)
}

func (a *app) runnerOf(kept store.Store, opts node.Options, clock runner.Clock) (*runner.Runner, error) {
	_, unread := kept.(*unkept)
	told, err := a.telemetry()
	if err != nil {
		return nil, err
	}
	var watch runner.Sink
	if told != nil {
		watch = told
	}
	return runner.New(runner.Config{
		Watch: watch, Kinds: told.Kinds(node.Kinds(opts)), Store: kept, Unread: unread, Owner: sqlite.ThisProcess(), Decider: node.NewDecider(opts), Clock: clock,
		Notifier: &runner.Notifier{Send: node.Notify(opts), Always: a.always},
	})
}

// telemetry returns what tells OpenTelemetry of runs, or nil; Main closes it.
func (a *app) telemetry() (*telemetry.Telemetry, error) {
	if a.told == nil {
		told, err := telemetry.FromEnv(readBuildVersion().Version, func(text string) { fmt.Fprintln(a.Stderr, "graphrun: "+text) })
		if err != nil {
			return nil, usage(err)
		}
		a.told = told
	}
	return a.told, nil
}

// killTime is how long the programs of a run get to be gone after they were
// killed.
const killTime = time.Second

// drive runs what do does. The first interrupt cancels it, the second kills
// what still runs and gives up waiting for the rest.
func (s *session) drive(
	ctx context.Context, opts *runner.Options, do func(ctx context.Context) (*runner.Result, error),
) (*runner.Result, error) {
	a := s.app
	opts.Sink, opts.By = s.out.sink(), whoAnswers()
	opts.Warn = s.out.warn()
	if l, ok := s.out.view.(runview.Listener); ok {
		opts.Heard = l.Heard
	}
	if a.StdinTerminal && a.StderrTerminal && !s.flags.noInput {
		opts.Ask = newAsker(a, s.out).ask
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := a.signals()
	defer signals.stop()

	type outcome struct {
		result *runner.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := do(ctx)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case sig := <-signals.c:
		s.out.note("cancelling: what runs has 5 seconds to end; interrupt again to end at once")
		cancel(&interrupted{sig})
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-signals.c:
		close(s.kill)
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-time.After(killTime):
		a.store.abandoned = true
		return nil, silent(exitCancelled)
	}
}

// finish says what a run came to and returns the error that stands for its
// exit code.
func (s *session) finish(result *runner.Result, err error) error {
	closeErr := s.out.close()
	if s.flags.record != "" {
		closeErr = errors.Join(closeErr, s.flags.tape.Save(s.flags.record))
	}
	if err != nil {
		if result != nil && s.out.format == "json" { // whoever reads stdout waits for an object
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
	return silent(exitOfResult(result, s.flags.strict))
}

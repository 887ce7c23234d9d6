// The run command: run a graph to its end, a pause or a limit.

package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// runFlags are the flags of run.
type runFlags struct {
	inputs         []string
	inputFile      string
	runID          string
	maxSteps       int
	timeout        time.Duration
	maxConcurrency int
	goal           string
	noInput        bool
	strict         bool
	dryRun         bool
	history        bool
	output         enum
	trace          string
	stream         enumList
	labels         []string
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FLOW",
		Short: "Run a graph to its end or a limit",
		Long: `run checks a graph file, runs it, and prints its output on stdout. What happens step
by step goes to stderr: live on a terminal, else one line at a time. A file that is
not valid is not run at all.

Inputs are state keys, read by their schema: for {type: integer}, -i n=3 is the
number 3. A key without a type takes JSON if the value is JSON, else text.
  -i key=value   -i key=@file (the text of a file)   -i key:=json   -i key:=@file

The first interrupt (Ctrl-C) cancels what runs and gives it 5 seconds to end; the
second ends the program at once.

Exit codes: 0 completed, 1 failed (with --strict also completed but degraded),
2 bad input or flag, 3 invalid file, 4 stuck, 5 limit hit, 10 paused, 130 cancelled.`,
		Example: `  graphrun run flow.yaml -i ticket="My invoice is wrong" -i urgent=true
  graphrun run flow.yaml --input-file input.json -o json | jq .state
  graphrun run flow.yaml -o jsonl --stream updates,messages
  graphrun run flow.yaml --dry-run`,
		Args:              oneFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), cmd, &f, args[0])
		},
	}
	addRunFlags(cmd, &f)
	return cmd
}

func addRunFlags(cmd *cobra.Command, f *runFlags) {
	f.output = newEnum("text", "json", "jsonl", "text")
	f.stream.allowed = streamNames()
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "a state key's value: key=value, key=@file or key:=json; repeatable")
	flags.StringVar(&f.inputFile, "input-file", "", "a JSON or YAML object of inputs, - for stdin; -i wins over it")
	flags.StringVar(&f.runID, "run-id", "", "id of the run (default: a new one)")
	flags.IntVar(&f.maxSteps, "max-steps", 0, "most node executions, instead of the graph's limit")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest active time, such as 90s or 10m, instead of the graph's limit")
	flags.IntVar(&f.maxConcurrency, "max-concurrency", 0, "most nodes that run at once, instead of the graph's limit")
	flags.StringVar(&f.goal, "goal", "", "goal of the run instead of the graph's: text, or @file")
	flags.BoolVar(&f.noInput, "no-input", false, "never ask on the terminal")
	flags.BoolVar(&f.strict, "strict", false, "exit 1 when the run completed but degraded")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would run: nodes, edges, limits; run nothing")
	flags.BoolVar(&f.history, "history", false, "add every node execution to the JSON result")
	enumFlag(cmd, flags, &f.output, "output", "o", "form of the output: json is one object at the end,\njsonl one event a line as they happen")
	flags.StringVar(&f.trace, "trace", "", "write every event to a FILE as JSON lines")
	flags.Var(&f.stream, "stream", "events that jsonl prints besides run_*, of "+strings.Join(f.stream.allowed, ", ")+"\n(default: all)")
	flags.StringArrayVar(&f.labels, "label", nil, "key=value to find the run by, once runs are kept; repeatable")
	complete(cmd, "stream", f.stream.allowed)
	for _, name := range []string{"input", "run-id", "max-steps", "timeout", "max-concurrency", "label"} {
		complete(cmd, name, nil)
	}
	setting(flags, "max-steps", "timeout", "max-concurrency", "no-input", "strict", "history", "output", "stream")
}

// run is the whole of a run: check, read the input, run, report.
func (a *app) run(ctx context.Context, cmd *cobra.Command, f *runFlags, path string) error {
	if err := f.validate(cmd); err != nil {
		return err
	}
	goal, err := textOrFile(f.goal)
	if err != nil {
		return usagef("--goal: %w", err)
	}
	if path == "-" && f.inputFile == "-" {
		return usagef("the graph and --input-file can't both be stdin")
	}
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	input, err := a.readInput(g, f.inputFile, f.inputs, f.dryRun)
	if err != nil {
		return err
	}
	opts := runner.Options{
		RunID: f.runID, Input: input, Goal: goal, History: f.history, Dir: filepath.Dir(path),
		MaxSteps: f.maxSteps, Timeout: f.timeout, MaxConcurrency: f.maxConcurrency,
	}
	if f.dryRun {
		return a.printPlan(newPlan(g, opts), f.output.value)
	}
	kill := make(chan struct{})
	flow, err := prepare(g, kill)
	var invalid *runner.InvalidError
	if errors.As(err, &invalid) {
		return a.invalid(invalid.Diagnostics)
	}
	if err != nil {
		return err
	}
	out, err := a.newRunOutput(g, f)
	if err != nil {
		return err
	}
	opts.Sink = out
	result, err := a.execute(ctx, flow, opts, out, kill)
	return a.finish(result, err, f, out)
}

// finish says what a run came to and returns the error that stands for its
// exit code.
func (a *app) finish(result *runner.Result, err error, f *runFlags, out *runOutput) error {
	closeErr := out.close()
	if err != nil {
		return err
	}
	if err := out.result(result); err != nil {
		return err
	}
	if closeErr != nil {
		return closeErr
	}
	return silent(exitOfResult(result, f.strict))
}

// validate refuses values that no run can have.
func (f *runFlags) validate(cmd *cobra.Command) error {
	var problems []error
	atLeast := func(name string, ok bool, want string) {
		if cmd.Flags().Changed(name) && !ok {
			problems = append(problems, usagef("--%s %s: must be %s", name, cmd.Flag(name).Value, want))
		}
	}
	atLeast("max-steps", f.maxSteps >= 1, "at least 1")
	atLeast("max-concurrency", f.maxConcurrency >= 1, "at least 1")
	atLeast("timeout", f.timeout > 0, "more than 0")
	for _, l := range f.labels {
		if key, _, ok := strings.Cut(l, "="); !ok || key == "" {
			problems = append(problems, usagef("--label %q: want key=value", l))
		}
	}
	if strings.ContainsFunc(f.runID, badInID) {
		problems = append(problems, usagef("--run-id %q: only letters, digits and -_.: are allowed", f.runID))
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

func badInID(r rune) bool {
	ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
	return !ok
}

// prepare compiles a graph for a runner with graphrun's own node kinds, whose
// programs end at once when kill is closed.
func prepare(g *spec.Graph, kill <-chan struct{}) (*runner.Flow, error) {
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{Kill: kill})})
	if err != nil {
		return nil, err
	}
	return r.Prepare(g)
}

// killTime is how long the programs of a run get to be gone after they were
// killed.
const killTime = time.Second

// execute runs the graph. The first interrupt cancels it, the second kills what
// still runs and gives up waiting for the rest.
func (a *app) execute(
	ctx context.Context, flow *runner.Flow, opts runner.Options, out *runOutput, kill chan<- struct{},
) (*runner.Result, error) {
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
		result, err := flow.Run(ctx, opts)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case s := <-signals.c:
		out.note("cancelling: what runs has 5 seconds to end; interrupt again to end at once")
		cancel(&interrupted{s})
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-signals.c:
		close(kill)
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-time.After(killTime):
		return nil, silent(exitCancelled)
	}
}

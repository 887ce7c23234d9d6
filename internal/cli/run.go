// The run command: run a graph to its end, a pause or a limit.

package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// runFlags are the flags of run.
type runFlags struct {
	driveFlags
	models    modelFlags
	inputs    []string
	inputFile string
	runID     string
	goal      string
	dryRun    bool
	stubs     string
	labels    []string
	session   string
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FLOW",
		Short: "Run a graph to its end, a pause or a limit",
		Long: `run checks a graph file, runs it, and prints its output on stdout. Its steps appear on
stderr: live on a terminal, else one line each. A file that is not valid never runs.

Inputs are state keys, read by their schema: for {type: integer}, -i n=3 is the
number 3. A key without a type takes JSON if the value is JSON, else text.
  -i key=value   -i key=@file (the text of a file)   -i key:=json   -i key:=@file

The first interrupt (Ctrl-C) cancels running nodes and gives them 5 seconds to end; the
second ends the program at once. Every step is stored as it happens: graphrun resume
continues a run that was interrupted, crashed, failed, hit a limit or is paused.

A human node asks on the terminal. Without one, or with --no-input, the run pauses
and prints how to continue. --answer answers in advance.

Exit codes: 0 completed, 1 failed (with --strict also completed but degraded),
2 bad input or flag, 3 invalid file, 4 stuck, 5 limit hit, 10 paused, 130 cancelled.`,
		Example: `  graphrun run flow.yaml -i ticket="My invoice is wrong" -i urgent=true
  graphrun run flow.yaml --input-file input.json -o json | jq .state
  graphrun run flow.yaml -o jsonl --stream updates,messages
  graphrun run flow.yaml --pause-before deploy --label ticket=4711
  graphrun run flow.yaml --model default=anthropic/claude-sonnet-5-5 --set-model-param reasoning=low
  graphrun run chat.yaml --session alice -i question="And then?"
  graphrun run flow.yaml --dry-run`,
		Args:              oneFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), cmd, &f, args[0])
		},
	}
	addRunFlags(a, cmd, &f)
	return cmd
}

func addRunFlags(a *app, cmd *cobra.Command, f *runFlags) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "a state key's value: key=value, key=@file or key:=json; repeatable")
	flags.StringVar(&f.inputFile, "input-file", "", "FILE with a JSON or YAML object of inputs, - for stdin; -i wins over it")
	flags.StringVar(&f.runID, "run-id", "", "id of the run (default: a new one)")
	flags.StringVar(&f.goal, "goal", "", "goal that replaces the graph's: text, or @file")
	flags.BoolVar(&f.dryRun, "dry-run", false, "run with made-up values and print what each step would start, send, ask and write;\nnothing is executed, sent or stored")
	flags.StringVar(&f.stubs, "stubs", "", "`FILE` of stubs for --dry-run, in the form of a test case")
	flags.StringArrayVar(&f.labels, "label", nil, "key=value: a label to find the run by; repeatable")
	for _, name := range []string{"run-id", "label"} {
		complete(cmd, name, nil)
	}
	completeKeys(cmd, "input", flowNamed)
	flags.StringVar(&f.session, "session", "", "ID of the session, which passes state keys with scope: session and the\nconversation from run to run")
	_ = cmd.RegisterFlagCompletionFunc("session", a.completeSession) // it exists: it was added just now
	addModelFlags(cmd, &f.models)
	addDriveFlags(cmd, &f.driveFlags, flowNamed)
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
	g, err := a.loadFlow(path, f.models.roles()...)
	if err != nil {
		return err
	}
	input, err := a.readInput(g, f.inputFile, f.inputs, f.dryRun || f.session != "")
	if err != nil {
		return err
	}
	opts, err := f.options(g)
	if err != nil {
		return err
	}
	if err := f.models.apply(g, &opts); err != nil {
		return err
	}
	if err := f.models.tape(&f.driveFlags); err != nil {
		return err
	}
	opts.Rush = f.models.replay != ""
	opts.RunID, opts.Input, opts.Goal, opts.Dir, opts.Session = f.runID, input, goal, filepath.Dir(path), f.session
	if f.dryRun {
		return a.dryRun(ctx, g, opts, f)
	}
	if opts.Labels, err = readLabels(f.labels); err != nil {
		return err
	}
	if f.session != "" && a.storePath() == "" && !a.onCluster() {
		return usagef("--session %q: --store memory keeps nothing for the next run; name a file", f.session)
	}
	if err := a.checkPlace(g, f); err != nil {
		return err
	}
	kept, err := a.openStore()
	if err != nil {
		return a.unopened(g, f, err)
	}
	s, err := a.newSession(kept, g, &f.driveFlags)
	if err != nil {
		return err
	}
	flow, err := s.runner.Prepare(g)
	var invalid *runner.InvalidError
	if errors.As(err, &invalid) {
		return errors.Join(s.out.close(), a.invalid(invalid.Diagnostics))
	}
	if err != nil {
		return err
	}
	result, err := s.drive(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		if a.onCluster() {
			return a.engine.store.Begin(ctx, s.runner, flow, opts, f.tape)
		}
		return flow.Run(ctx, opts)
	})
	return s.finish(result, err)
}

// unopened says that the store could not be opened, with -o json as an object, too.
func (a *app) unopened(g *spec.Graph, f *runFlags, err error) error {
	if f.output.value != "json" || exitOf(err) != exitFailed {
		return err
	}
	return errors.Join(err, writeJSON(a.Stdout, &runner.Result{
		RunID: f.runID, Graph: g.Name.Value, Status: machine.Failed, Reason: "store", Start: g.Start.Value, Path: []string{},
		State: map[string]any{}, Pending: []view.Pending{}, StartedAt: a.Now(), Error: &runner.Failure{Kind: "internal", Message: err.Error()},
	}, a.StdoutTerminal))
}

// validate refuses values that no run can have.
func (f *runFlags) validate(cmd *cobra.Command) error {
	problems := f.problems(cmd)
	for _, err := range []error{store.CheckID("--run-id", f.runID), store.CheckID("--session", f.session)} {
		if err != nil {
			problems = append(problems, usage(err))
		}
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

// readLabels reads key=value pairs.
func readLabels(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--label %q: want key=value", pair)
		}
		out[key] = value
	}
	return out, nil
}

// The fork command: a new run from the past of another one.

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	driveFlags
	at     int
	set    []string
	runID  string
	labels []string
}

func newForkCommand(a *app) *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork RUN --at STEP",
		Short: "Start a new run from a step of another, with or without changed state",
		Long: `fork starts a new run from the state that a run had after one of its steps, and runs it
at once. --set changes state keys, read by their schema like the inputs of run. The old
run stays unchanged; the new one has its path up to the step and names it as its parent.
--at 0 begins before the first node.

The nodes of a parallel step belong together: if STEP is one of them, fork takes the last
of them and says so. Exit codes are those of run.`,
		Example: `  graphrun fork nightly --at 3
  graphrun fork nightly --at 3 --set confidence=0.9 -o json`,
		Args:              oneRun,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			return a.fork(cmd.Context(), &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.at, "at", 0, "STEP after which the new run begins; 0: before the first step")
	flags.StringArrayVar(&f.set, "set", nil, "a state key's value: key=value, key=@file or key:=json; repeatable")
	flags.StringVar(&f.runID, "run-id", "", "id of the new run (default: a new one)")
	flags.StringArrayVar(&f.labels, "label", nil, "key=value: a label to find the new run by; repeatable")
	for _, name := range []string{"run-id", "label"} {
		complete(cmd, name, nil)
	}
	completeWith(cmd, "at", a.completeSteps)
	completeKeys(cmd, "set", a.runNamed)
	addDriveFlags(cmd, &f.driveFlags, a.runNamed)
	return cmd
}

func (f *forkFlags) validate(cmd *cobra.Command) error {
	problems := f.problems(cmd)
	switch {
	case !cmd.Flags().Changed("at"):
		problems = append(problems, usagef("--at is needed: the step after which the new run begins, 0 for none"))
	case f.at < 0:
		problems = append(problems, usagef("--at %d: must be at least 0", f.at))
	}
	if err := store.CheckID("--run-id", f.runID); err != nil {
		problems = append(problems, usage(err))
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

func (a *app) fork(ctx context.Context, f *forkFlags, id string) error {
	kept, record, err := a.openRun(id)
	if err != nil {
		return err
	}
	id = record.ID
	g := recordedGraph(&record)
	opts, err := f.options(g)
	if err != nil {
		return err
	}
	set, err := a.readInput(g, "", f.set, true)
	if err != nil {
		return refused("the values to set do not fit the graph", err)
	}
	opts.RunID = f.runID
	if opts.Labels, err = readLabels(f.labels); err != nil {
		return err
	}
	s, err := a.newSession(kept, g, &f.driveFlags)
	if err != nil {
		return err
	}
	for _, text := range changedFiles(&record) {
		s.out.note(text)
	}
	result, err := s.drive(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		fork := runner.ForkOptions{Options: opts, At: f.at, Set: set}
		if a.onCluster() {
			return a.engine.store.ForkOf(ctx, s.runner, id, fork)
		}
		return s.runner.Fork(ctx, id, fork)
	})
	return s.finish(result, refused("run "+id+" was not forked", err))
}

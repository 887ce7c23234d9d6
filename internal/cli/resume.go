// The resume command: go on with a run.

package cli

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

func newResumeCommand(a *app) *cobra.Command {
	var f driveFlags
	var withFile string
	var due bool
	cmd := &cobra.Command{
		Use:   "resume RUN|--due",
		Short: "Continue a run that paused, was interrupted, crashed or failed",
		Long: `resume continues a run that is paused, or that a crash, an interrupt, a failure or a
limit ended. It uses the graph that the run was started with, and says if the file has
changed since. --with-file continues with another version, which then belongs to the
run: given what was recorded, it must take every step that the run has taken, and the
state must fit its schemas. If not, resume says where it would have gone another way and
leaves the run unchanged.

Finished nodes don't run again. A node that had begun and not finished does, as the same
visit and with the same idempotency key in its environment. For a completed run, resume
executes nothing and prints the result.

Steps that were taken count towards the limit; --max-steps sets a new one. Exit codes
are those of run; 2 also means that another process drives the run.`,
		Example: `  graphrun resume 20260102-150405-abcdef --answer approve=yes
  graphrun resume nightly --max-steps 500 -o json
  graphrun resume nightly --with-file flow.yaml
  graphrun resume --due --park 1m`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !due {
				return oneRun(cmd, args)
			}
			return noArgs(cmd, args)
		},
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if problems := f.problems(cmd); len(problems) > 0 {
				return usage(errors.Join(problems...))
			}
			if due {
				if err := dueAlone(cmd); err != nil {
					return err
				}
				return a.resumeDue(cmd.Context(), &f)
			}
			return a.resume(cmd.Context(), &f, args[0], withFile)
		},
	}
	cmd.Flags().StringVar(&withFile, "with-file", "", "FILE of another version of the graph to continue with")
	cmd.Flags().BoolVar(&due, "due", false, "continue every run whose timeout, wait or retry delay has passed; for cron.\nPrints one line per run and exits with the gravest code; a run that pauses again\ncounts as 0")
	addDriveFlags(cmd, &f, a.runNamed)
	return cmd
}

// dueAlone refuses flags that are for one run beside --due.
func dueAlone(cmd *cobra.Command) error {
	for _, name := range []string{"answer", "with-file", "pause-before", "pause-after", "trace", "stream", "history"} {
		if f := cmd.Flag(name); f != nil && f.Changed && f.Annotations[settingAnnotation] == nil {
			return usagef("--%s is for one run, --due for all whose time has come", name)
		}
	}
	if cmd.Flag("output").Value.String() == "jsonl" {
		return usagef("--output jsonl is for one run; with --due: json, text")
	}
	return nil
}

func (a *app) resume(ctx context.Context, f *driveFlags, id, withFile string) error {
	kept, record, err := a.openRun(id)
	if err != nil {
		return err
	}
	id = record.ID
	g, changed := recordedGraph(&record), changedFiles(&record)
	if withFile != "" {
		changed = nil
		if g, err = a.loadFlow(withFile); err != nil {
			return err
		}
	}
	opts, err := f.options(g)
	if err != nil {
		return err
	}
	s, err := a.newSession(kept, g, f)
	if err != nil {
		return err
	}
	for _, text := range changed {
		s.out.note(text)
	}
	result, err := s.drive(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		switch {
		case a.onCluster() && withFile != "":
			return a.engine.store.ResumeWith(ctx, s.runner, id, g, opts)
		case a.onCluster():
			return a.engine.store.Resume(ctx, s.runner, id, opts)
		case withFile != "":
			return s.runner.ResumeWith(ctx, id, g, opts)
		}
		return s.runner.Resume(ctx, id, opts)
	})
	if driven := (*store.DrivenError)(nil); errors.As(err, &driven) && len(f.answers) > 0 {
		err = a.unusedAnswers(s.runner, id, &opts, driven)
	}
	if result != nil {
		for _, target := range result.Unused {
			s.out.note("the answer for " + target + " was not used: nothing has asked for it")
		}
	}
	return s.finish(result, refused("run "+id+" was not resumed and stays as it was", err))
}

// unusedAnswers is the error of a resume with answers while another process drives
// the run: who has given them instead, or how they reach that process.
func (a *app) unusedAnswers(r *runner.Runner, id string, opts *runner.Options, driven error) error {
	lines := []string{driven.Error()}
	for _, target := range slices.Sorted(maps.Keys(opts.Answers)) {
		line, err := r.WhoAnswered(id, target)
		if err != nil {
			return err
		}
		if line == "" {
			line = "the answer for " + target + " was not used; graphrun answer " + id + " " +
				shellWord(target+"="+opts.Answers[target][0]) + " gives it to that process"
		}
		lines = append(lines, line)
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// recordedGraph is the graph that a run was started with. It was valid then;
// what is not any more is found when it is prepared.
func recordedGraph(record *store.RunRecord) *spec.Graph {
	g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load})
	return g
}

// changedFiles says which files of a run are not what they were.
func changedFiles(record *store.RunRecord) []string {
	var out []string
	say := func(name string, kept []byte) {
		if strings.HasSuffix(name, stdinName) {
			return
		}
		src, err := bounded.ReadFile(name, bounded.Text)
		switch {
		case err != nil:
			out = append(out, nearPath(name)+" can't be read any more; going on with the graph as it was")
		case !bytes.Equal(src, kept):
			out = append(out, nearPath(name)+" has changed since the run began; going on with the graph as it was")
		}
	}
	say(record.File, record.Source)
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		say(name, record.Files[name])
	}
	return out
}

// refused turns what is wrong with answers, values or secrets into a usage
// error under a headline.
func refused(headline string, err error) error {
	var input *runner.InputError
	if errors.As(err, &input) {
		return usagef("%s\n%s", headline, strings.Join(input.Problems, "\n"))
	}
	var misfit *runner.MisfitError
	if errors.As(err, &misfit) {
		return usagef("%s\n%s", headline, strings.Join(misfitLines(misfit), "\n"))
	}
	return err
}

// misfitLines tell a person why a version of a graph does not fit a run.
func misfitLines(e *runner.MisfitError) []string {
	if e.Divergence == nil {
		return e.Problems
	}
	lines := replayLines(&replayed{RunID: "with that file, run " + e.RunID, Divergence: e.Divergence})
	lines[0] = strings.Replace(lines[0], "  diverged", " would have gone another way", 1)
	return lines
}

// The resume, fork and answer commands: continue a run, or a copy of it.

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

func newResumeCommand(a *app) *cobra.Command {
	var f driveFlags
	var withFile string
	var due bool
	cmd := &cobra.Command{
		Use: "resume RUN|--due",
		Args: func(cmd *cobra.Command, args []string) error {
			if !due {
				return requireRunArg(cmd, args)
			}
			return rejectArgs(cmd, args)
		},
		ValidArgsFunction: completeByPosition(a.listRunIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkRanges(cmd); err != nil {
				return err
			}
			if due {
				if err := checkDueFlags(cmd); err != nil {
					return err
				}
				return a.resumeDue(cmd.Context(), &f)
			}
			return a.resumeRun(cmd.Context(), &f, args[0], withFile)
		},
	}
	cmd.Flags().StringVar(&withFile, "with-file", "", "FILE of another version of the graph to continue with")
	cmd.Flags().BoolVar(&due, "due", false, "continue every run whose timeout, wait or retry delay has passed; for cron.\nPrints one line per run and exits with the most severe code; a run that pauses again\ncounts as 0")
	addDriveFlags(cmd, &f, a.parseNamedRun)
	return cmd
}

// checkDueFlags refuses flags for a single run together with --due.
func checkDueFlags(cmd *cobra.Command) error {
	for _, name := range []string{"answer", "with-file", "pause-before", "pause-after", "trace", "stream", "history"} {
		if f := cmd.Flag(name); f.Changed && !isSetting(f) {
			return usagef("--%s is for one run, --due for all whose time has come", name)
		}
	}
	if outputFormat(cmd) == "jsonl" {
		return usagef("--output jsonl is for one run; with --due: json, text")
	}
	return nil
}

func (a *app) resumeRun(ctx context.Context, f *driveFlags, id, withFile string) error {
	kept, record, err := a.openRun(id)
	if err != nil {
		return err
	}
	id = record.ID
	g, changed := parseRecordedGraph(&record), describeChangedFiles(&record)
	var other *spec.Graph
	if withFile != "" {
		if other, err = a.loadFlow(withFile); err != nil {
			return err
		}
		g, changed = other, nil
	}
	s, err := a.newSession(kept, g, f, changed...)
	if err != nil {
		return err
	}
	opts := f.opts
	result, err := s.driveRun(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		switch {
		case a.usesCluster():
			return a.engine.store.Resume(ctx, s.runner, id, other, opts)
		case other != nil:
			return s.runner.ResumeWith(ctx, id, other, opts)
		}
		return s.runner.Resume(ctx, id, opts)
	})
	if hasType[*store.DrivenError](err) && len(opts.Answers) > 0 {
		err = explainUnusedAnswers(s.runner, id, &opts, err)
	}
	if result != nil {
		for _, target := range result.Unused {
			s.out.printNote("the answer for " + target + " was not used: nothing has asked for it")
		}
	}
	return s.finishRun(result, wrapInputError("run "+id+" was not resumed and stays as it was", err))
}

// explainUnusedAnswers returns the error of a resume with answers while another process drives the
// run. The error says who answered, or which command sends the answer to that process.
func explainUnusedAnswers(r *runner.Runner, id string, opts *runner.Options, driven error) error {
	lines := []string{driven.Error()}
	for _, target := range slices.Sorted(maps.Keys(opts.Answers)) {
		line, err := r.DescribeLastAnswer(id, target)
		if err != nil {
			return err
		}
		if line == "" {
			line = "the answer for " + target + " was not used; graphrun answer " + id + " " +
				runview.QuoteForShell(target+"="+opts.Answers[target][0]) + " gives it to that process"
		}
		lines = append(lines, line)
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// parseRecordedGraph returns the graph of a run. Prepare reports if it is no longer valid.
func parseRecordedGraph(record *store.RunRecord) *spec.Graph {
	g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load})
	return g
}

// describeChangedFiles returns a message for each file of a run that has changed.
func describeChangedFiles(record *store.RunRecord) []string {
	var out []string
	say := func(name string, kept []byte) {
		if strings.HasSuffix(name, stdinName) {
			return
		}
		src, err := bounded.ReadFile(name, bounded.Text)
		switch {
		case err != nil:
			out = append(out, shortPath(name)+" can't be read any more; continuing with the recorded graph")
		case !bytes.Equal(src, kept):
			out = append(out, shortPath(name)+" has changed since the run began; continuing with the recorded graph")
		}
	}
	say(record.File, record.Source)
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		say(name, record.Files[name])
	}
	return out
}

// wrapInputError turns an InputError or a MisfitError into a usage error with a headline.
func wrapInputError(headline string, err error) error {
	var lines []string
	if input, ok := errors.AsType[*runner.InputError](err); ok {
		lines = input.Problems
	} else if misfit, ok := errors.AsType[*runner.MisfitError](err); !ok {
		return err
	} else if lines = misfit.Problems; misfit.Divergence != nil {
		lines = runview.FormatDivergence("with that file, run "+misfit.RunID+" would have gone another way", misfit.Divergence)
	}
	return usagef("%s\n%s", headline, strings.Join(lines, "\n"))
}

// maxDue is the number of due runs that are resumed at once.
const maxDue = 4

// resumedRun is the JSON of a due run that was resumed.
type resumedRun struct {
	RunID   string          `json:"run_id"`
	Graph   string          `json:"graph"`
	Status  machine.Status  `json:"status"`
	Quality machine.Quality `json:"quality"`
	Reason  string          `json:"reason"`
	Steps   int             `json:"steps"`
	Due     *time.Time      `json:"due"`
	// ExitCode is the exit code of resume RUN. Error says why the run could not be resumed.
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error,omitempty"`

	result  *runner.Result
	skipped bool // another process resumed it
}

// resumeDue resumes every run whose timeout, wait or retry delay has passed.
func (a *app) resumeDue(ctx context.Context, f *driveFlags) error {
	kept, err := a.openStore()
	if err != nil {
		return err
	}
	kill := make(chan struct{})
	r, err := a.newRunner(kept, node.Options{Kill: kill})
	if err != nil {
		return err
	}
	due, err := inspect.FindDueRuns(r, kept, a.Now())
	if err != nil {
		return err
	}
	list, err := runUntilInterrupted(ctx, a, func() { a.printNote(cancelling) }, kill, func(ctx context.Context) ([]resumedRun, error) {
		out := make([]resumedRun, len(due))
		runParallel(len(due), maxDue, func(i int) { out[i] = resumeDueRun(ctx, r, f, &due[i]) })
		return slices.DeleteFunc(out, func(one resumedRun) bool { return one.skipped }), nil
	})
	if err != nil {
		return err
	}
	return a.printResumed(list, f.output.value)
}

func resumeDueRun(ctx context.Context, r *runner.Runner, f *driveFlags, line *store.RunSummary) resumedRun {
	out := resumedRun{RunID: line.ID, Graph: line.Graph, Status: line.EffectiveStatus(), Reason: line.Reason, Steps: line.Steps}
	if ctx.Err() != nil {
		out.ExitCode = exitCancelled
		return out
	}
	switch result, err := r.Resume(ctx, line.ID, f.opts); {
	case hasType[*store.DrivenError](err):
		out.skipped = true
	case err != nil:
		out.Error, out.ExitCode = err.Error(), findExitCode(err)
	default:
		out.Status, out.Quality, out.Reason, out.Steps, out.Due = result.Status, result.Quality, result.Reason, result.Steps, result.Due
		out.result, out.ExitCode = result, result.ExitCode(f.strict)
	}
	return out
}

// runParallel calls work for each number below n, at most most of them at once.
func runParallel(n, most int, work func(i int)) {
	slots := make(chan struct{}, most)
	var group sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			work(i)
		})
	}
	group.Wait()
}

// printResumed prints a line per run and returns the error for the exit code of all.
func (a *app) printResumed(list []resumedRun, form string) error {
	code := findWorstExitCode(list)
	if form == "json" {
		return errors.Join(writeJSON(a.Stdout, list, a.StdoutTerminal), exitWith(code))
	}
	for i := range list {
		text := list[i].Error
		if result := list[i].result; result != nil {
			text = runview.FormatHeadline(result)
			if result.Due != nil {
				text += ", due at " + runview.FormatTime(*result.Due)
			}
		}
		fmt.Fprintf(a.Stdout, "%s  %s\n", list[i].RunID, text)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Stderr, "no run is due")
	}
	return exitWith(code)
}

// findWorstExitCode returns the most severe exit code of several runs. A pause counts as 0.
func findWorstExitCode(list []resumedRun) int {
	for _, code := range [...]int{exitCancelled, exitFailed, exitUsage, exitInvalid, exitStuck, exitLimit} {
		if slices.ContainsFunc(list, func(r resumedRun) bool { return r.ExitCode == code }) {
			return code
		}
	}
	return exitOK
}

type forkFlags struct {
	driveFlags
	at  int
	set []string
}

func newForkCommand(a *app) *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:               "fork RUN --at STEP",
		Args:              requireRunArg,
		ValidArgsFunction: completeByPosition(a.listRunIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			var missing error
			if !cmd.Flags().Changed("at") {
				missing = usagef("--at is needed: the step after which the new run begins, 0 for none")
			}
			if err := f.checkRanges(cmd, missing, checkAt(f.at), store.CheckID("--run-id", f.opts.RunID)); err != nil {
				return err
			}
			return a.forkRun(cmd.Context(), &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.at, "at", 0, "STEP after which the new run begins; 0: before the first step")
	flags.StringArrayVar(&f.set, "set", nil, "a state key's value: key=value, key=@file or key:=json; repeatable")
	flags.StringVar(&f.opts.RunID, "run-id", "", "id of the new run (default: generated)")
	addLabelFlag(cmd, &f.opts.Labels, "key=value: a label to find the new run by; repeatable")
	completeFlag(cmd, "at", a.listSteps)
	completeFlag(cmd, "set", keyCandidates(a.parseNamedRun))
	addDriveFlags(cmd, &f.driveFlags, a.parseNamedRun)
	return cmd
}

func (a *app) forkRun(ctx context.Context, f *forkFlags, id string) error {
	kept, record, err := a.openRun(id)
	if err != nil {
		return err
	}
	id = record.ID
	g := parseRecordedGraph(&record)
	set, err := a.readInput(g, "", f.set, true)
	if err != nil {
		return wrapInputError("the values to set do not fit the graph", err)
	}
	s, err := a.newSession(kept, g, &f.driveFlags, describeChangedFiles(&record)...)
	if err != nil {
		return err
	}
	opts := f.opts
	result, err := s.driveRun(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		fork := runner.ForkOptions{Options: opts, At: f.at, Set: set}
		if a.usesCluster() {
			return a.engine.store.ForkOf(ctx, s.runner, id, fork)
		}
		return s.runner.Fork(ctx, id, fork)
	})
	return s.finishRun(result, wrapInputError("run "+id+" was not forked", err))
}

type answerFlags struct {
	by     string
	resume bool
	drive  driveFlags
}

func newAnswerCommand(a *app) *cobra.Command {
	var f answerFlags
	f.drive.output = newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:               "answer RUN NODE=VALUE...",
		Args:              requireArgs(2, -1, "a run and answers, RUN NODE=VALUE (graphrun runs pending lists what is asked)"),
		ValidArgsFunction: completeByPosition(a.listRunIDs, a.listQuestions),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.drive.checkRanges(cmd); err != nil {
				return err
			}
			return a.answerQuestions(cmd, &f, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.resume, "resume", false, "continue the run here, unless another process drives it")
	flags.StringVar(&f.by, "by", "", "NAME of the person who answers, stored with the answer (default: you, on this machine)")
	flags.BoolVar(&f.drive.noInput, "no-input", false, "with --resume: never ask on the terminal")
	flags.BoolVar(&f.drive.strict, "strict", false, "with --resume: exit 1 when the run completed but degraded")
	addParkFlag(cmd, &f.drive)
	addEnumFlag(cmd, flags, &f.drive.output, "output", "o", "output format; with --resume, that of run")
	markSettings(flags, "no-input", "strict", "output")
	return cmd
}

// findOnlyQuestion returns the target of the run's only open question, or a usage error.
func findOnlyQuestion(r *runner.Runner, id, text string) (string, error) {
	result, err := r.Show(id, runner.Options{})
	if err != nil {
		return "", err
	}
	names := mapSlice(result.Pending, func(p view.Pending) string { return p.Target() })
	switch len(names) {
	case 0:
		return "", usagef("run %q asks nothing", id)
	case 1:
		return names[0], nil
	}
	return "", usagef("%q: want NODE=VALUE, since run %q asks %d questions: %s", text, id, len(names), strings.Join(names, ", "))
}

// answerQuestions sends answers to the run, and resumes it with --resume.
func (a *app) answerQuestions(cmd *cobra.Command, f *answerFlags, id string, pairs []string) error {
	var answers []store.GivenAnswer
	for _, pair := range pairs {
		target, text, ok := strings.Cut(pair, "=")
		if ok && target == "" || !ok && len(pairs) > 1 {
			return usagef("%q: want NODE=VALUE", pair)
		}
		if !ok {
			target, text = "", pair
		}
		answers = append(answers, store.GivenAnswer{Target: target, Text: text})
	}
	kept, record, err := a.openRun(id)
	if err != nil {
		return err
	}
	r, err := a.newRunner(kept, node.Options{})
	if err != nil {
		return err
	}
	if answers[0].Target == "" {
		if answers[0].Target, err = findOnlyQuestion(r, record.ID, answers[0].Text); err != nil {
			return err
		}
	}
	by := cmp.Or(f.by, currentUser())
	before, err := kept.List(store.RunFilter{ID: record.ID})
	if err != nil {
		return err
	}
	driven, err := r.Answer(cmd.Context(), record.ID, answers, by)
	if err != nil {
		return wrapInputError("run "+record.ID+" took no answer and stays as it was", err)
	}
	if a.usesCluster() && len(before) == 1 && before[0].Owner == "" {
		driven = false // a run of the cluster continues without a command
	}
	if f.resume && !driven {
		err := a.resumeRun(cmd.Context(), &f.drive, record.ID, "")
		if !hasType[*store.DrivenError](err) {
			return err
		}
		driven = true // another process resumed it meanwhile
	}
	return a.printAnswered(cmd, r, &acceptedAnswers{record.ID, answers, by, driven})
}

// acceptedAnswers is the JSON of answers that were accepted.
type acceptedAnswers struct {
	RunID   string              `json:"run_id"`
	Answers []store.GivenAnswer `json:"answers"`
	By      string              `json:"by"`
	// Driven says that a process drives the run and continues it.
	Driven bool `json:"driven"`
}

func (a *app) printAnswered(cmd *cobra.Command, r *runner.Runner, out *acceptedAnswers) error {
	names := mapSlice(out.Answers, func(given store.GivenAnswer) string { return given.Target })
	err := a.printValue(cmd, out, fmt.Sprintf("run %s: %s answered\n", out.RunID, strings.Join(names, ", ")))
	if err != nil || out.Driven || outputFormat(cmd) == "json" {
		return err
	}
	result, err := r.Show(out.RunID, runner.Options{})
	if err != nil {
		return err
	}
	for _, p := range result.Pending {
		fmt.Fprintln(a.Stderr, runview.FormatQuestion(&p, terminal.NewColors(a.usesColor(a.StderrTerminal))))
	}
	fmt.Fprintln(a.Stderr, "next: "+runview.FormatResume(result, a.formatStoreFlag()))
	return nil
}

// currentUser returns the name of the person at this terminal.
func currentUser() string {
	name := cmp.Or(os.Getenv("USER"), "somebody")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += " on " + host
	}
	return name
}

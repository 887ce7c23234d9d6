// The answer command: answers to the open questions of a run.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

type answerFlags struct {
	by     string
	resume bool
	drive  driveFlags
}

func newAnswerCommand(a *app) *cobra.Command {
	var f answerFlags
	f.drive.output = newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "answer RUN NODE=VALUE...",
		Short: "Answer a question of a run",
		Long: `answer answers open questions of a run, as graphrun runs pending lists them. If a
process drives the run, the run continues within a second. If not, the answers wait
for a resume; --resume continues the run here.

VALUE is read as on the terminal: as text if the schema takes text, else as YAML or
JSON (c='{name: x}'). Give a choice by its first letters in any case or by its number,
a boolean by yes or no. Without NODE= the answer is for the only open question.

  NODE=VALUE          the node's question
  NODE:KEY=VALUE      the question that a program asks under KEY
  NODE[0]=VALUE       the question of the first element of an each
  OUTER/INNER=VALUE   the question of a node in a subgraph

One call takes all of its answers or none. An answer that is not legal, or that nothing
asks for, is refused with the reason, and nothing changes. If somebody else answered
first, the reason is who that was, what they said, and when.

Exit codes: 0 the answers were taken, 2 they were refused; with --resume those of run.`,
		Example: `  graphrun answer nightly approve=yes
  graphrun answer last approve=yes 'region[1]/approve=no' --resume
  graphrun answer nightly deploy:where=eu -o json`,
		Args:              takes(2, -1, "a run and answers, RUN NODE=VALUE (graphrun runs pending lists what is asked)"),
		ValidArgsFunction: byPosition(a.runIDs, a.questionsOfRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.drive.check(cmd); err != nil {
				return err
			}
			return a.answer(cmd.Context(), &f, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.resume, "resume", false, "continue the run here, unless another process drives it")
	flags.StringVar(&f.by, "by", "", "NAME of the person who answers, kept with the answer (default: you, on this machine)")
	flags.BoolVar(&f.drive.noInput, "no-input", false, "with --resume: never ask on the terminal")
	flags.BoolVar(&f.drive.strict, "strict", false, "with --resume: exit 1 when the run completed but degraded")
	addParkFlag(cmd, &f.drive)
	enumFlag(cmd, flags, &f.drive.output, "output", "o", "output format; with --resume, that of run")
	setting(flags, "no-input", "strict", "output")
	return cmd
}

// onlyQuestion returns the name of the run's only open question. It fails if there are
// none or several.
func onlyQuestion(r *runner.Runner, id, text string) (string, error) {
	result, err := r.Show(id, runner.Options{})
	if err != nil {
		return "", err
	}
	var names []string
	for i := range result.Pending {
		names = append(names, result.Pending[i].Target())
	}
	switch len(names) {
	case 0:
		return "", usagef("run %q asks nothing", id)
	case 1:
		return names[0], nil
	}
	return "", usagef("%q: want NODE=VALUE, since run %q asks %d questions: %s", text, id, len(names), strings.Join(names, ", "))
}

// answer sends answers to the run, and resumes it with --resume.
func (a *app) answer(ctx context.Context, f *answerFlags, id string, pairs []string) error {
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
		if answers[0].Target, err = onlyQuestion(r, record.ID, answers[0].Text); err != nil {
			return err
		}
	}
	by := f.by
	if by == "" {
		by = currentUser()
	}
	before, err := kept.List(store.RunFilter{ID: record.ID})
	if err != nil {
		return err
	}
	driven, err := r.Answer(ctx, record.ID, answers, by)
	if err != nil {
		return wrapInputError("run "+record.ID+" took no answer and stays as it was", err)
	}
	if a.onCluster() && len(before) == 1 && before[0].Owner == "" {
		driven = false // a cluster's run continues by itself
	}
	if f.resume && !driven {
		err := a.resume(ctx, &f.drive, record.ID, "")
		if driven := (*store.DrivenError)(nil); !errors.As(err, &driven) {
			return err
		}
		driven = true // another process resumed it meanwhile
	}
	return a.sayAnswered(r, record.ID, answers, by, driven, f.drive.output.value)
}

// answered is the JSON of answers that were accepted.
type answered struct {
	RunID   string              `json:"run_id"`
	Answers []store.GivenAnswer `json:"answers"`
	By      string              `json:"by"`
	// Driven says that a process drives the run and continues it.
	Driven bool `json:"driven"`
}

func (a *app) sayAnswered(r *runner.Runner, id string, answers []store.GivenAnswer, by string, driven bool, form string) error {
	if form == "json" {
		return writeJSON(a.Stdout, answered{id, answers, by, driven}, a.StdoutTerminal)
	}
	names := make([]string, len(answers))
	for i := range answers {
		names[i] = answers[i].Target
	}
	fmt.Fprintf(a.Stdout, "run %s: %s answered\n", id, strings.Join(names, ", "))
	if driven {
		return nil
	}
	result, err := r.Show(id, runner.Options{})
	if err != nil {
		return err
	}
	for _, p := range result.Pending {
		fmt.Fprintln(a.Stderr, runview.FormatQuestion(&p, terminal.NewColors(a.colorOn(a.StderrTerminal))))
	}
	fmt.Fprintln(a.Stderr, "next: "+runview.FormatResume(result, a.storeHint()))
	return nil
}

// currentUser returns the name of the person at this terminal.
func currentUser() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if name == "" {
		name = "somebody"
	}
	if host, err := os.Hostname(); err == nil {
		name += " on " + host
	}
	return name
}

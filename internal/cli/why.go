// The why command: the edges that a step could have taken.

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

const maxFailure = 144 // columns of a failure

func newWhyCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "why RUN [STEP]",
		Short: "Explain why a run went where it went",
		Long: `why explains, for one step of a run or for all, which edges the step could have taken, in
the order of the file: which fired, and why the others did not. Conditions appear with
the values that they read, each part of and, or and not on its own:
  confidence >= 0.8 → 0.62 >= 0.8 → false
A part is not evaluated if an earlier one decided. In a stuck run no edge of the last step
fired. why also works while the run is active. Without a step it includes the steps of
subgraphs, which have numbers of their own: outer/inner, and outer[2]/inner for the third
element of an each.`,
		Example:           "  graphrun why nightly\n  graphrun why nightly 4 -o json",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRunStep,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usagef("%q takes the id of a run (last: the latest one) and perhaps a step, got %d arguments", cmd.CommandPath(), len(args))
			}
			step := 0
			if len(args) == 2 {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return usagef("step %q: must be a number from 1", args[1])
				}
				step = n
			}
			return a.why(args[0], step, output.value)
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

func (a *app) why(id string, step int, form string) error {
	r, err := a.lookAt(id)
	if err != nil {
		return err
	}
	id = r.record.ID
	out := bufio.NewWriter(a.Stdout)
	array := &jsonArray{w: out, indent: a.StdoutTerminal}
	c := runview.NewColors(a.colorOn(a.StdoutTerminal))
	found := inspect.NewDecisions(step, inspect.HasJoins(recordedGraph(&r.record)))
	found.Say = func(d *inspect.Decision) error {
		if form == "json" {
			return array.add(d)
		}
		_, err := fmt.Fprintln(out, strings.Join(decisionLines(d, c), "\n"))
		return err
	}
	result, err := r.runner.ReplayFrom(id, step, runner.Options{Sink: found})
	if err != nil && !errors.Is(err, runner.ErrEnough) {
		return errors.Join(r.unreadable(err), out.Flush())
	}
	if found.Said == 0 && step > len(result.Path) {
		return usagef("step %d: run %q has taken %s", step, id, terminal.Count(len(result.Path), "step"))
	}
	if err := found.SayRest(); err != nil {
		return err
	}
	if form == "json" {
		return errors.Join(array.close(), out.Flush())
	}
	if step == 0 {
		for _, line := range runview.FinallyLines(result, c) {
			fmt.Fprintln(out, line)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if found.Said == 0 {
		fmt.Fprintln(a.Stderr, "nothing was decided yet: "+headline(result))
	}
	return nil
}

// decisionLines show a decision for a person.
func decisionLines(d *inspect.Decision, c runview.Colors) []string {
	name := d.At()
	if d.Visit > 1 {
		name = fmt.Sprintf("%s #%d", name, d.Visit)
	}
	outcome := ""
	if d.Outcome == "failure" {
		outcome = c.Bad("  failed")
	}
	next := "nowhere"
	if len(d.Shown) > 0 {
		next = strings.Join(d.Shown, ", ")
	}
	out := []string{c.Quiet(fmt.Sprintf("[%d]", d.Step)) + " " + c.Strong(name) + outcome + " → " + next}
	if d.Error != nil {
		out = append(out, "  "+c.Bad(terminal.Truncate(runview.FailureText(d.Error), maxFailure)))
		out = append(out, runview.SaidLast(d.Error, c)...)
	}
	width := 0
	for i := range d.Candidates {
		width = max(width, terminal.Width(d.Candidates[i].To))
	}
	for i := range d.Candidates {
		e := &d.Candidates[i]
		mark := c.Quiet("-")
		if e.Fired {
			mark = c.Good("✓")
		}
		why, parts := e.Why, []string(nil)
		if e.Reason != nil {
			why, parts = reasonLines(e.Reason)
		}
		out = append(out, fmt.Sprintf("  %s %s  %s  %s", mark, terminal.Pad(e.To, width),
			c.Quiet(terminal.Pad(e.Condition, len("conditional"))), terminal.Line(why)))
		for _, part := range parts {
			out = append(out, strings.Repeat(" ", 8+width+len("conditional"))+terminal.Line(part))
		}
	}
	for _, join := range d.Dropped {
		out = append(out, "  "+c.Warn("dropped ")+join.Join+": "+terminal.Line(join.Why))
	}
	return out
}

// reasonLines tell a condition for a person: the whole, and a line for each of
// its parts, indented by how deep they are.
func reasonLines(r *eval.Reason) (whole string, parts []string) {
	if len(r.Parts) == 0 || !r.Evaluated {
		return r.String(), nil
	}
	for i := range r.Parts {
		part, inner := reasonLines(&r.Parts[i])
		parts = append(parts, "  "+part)
		for _, line := range inner {
			parts = append(parts, "  "+line)
		}
	}
	return r.Source + " → " + eval.ResultText(r.Result), parts
}

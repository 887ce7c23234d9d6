// The pending command of runs: what all runs ask.

package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func newRunsPendingCommand(a *app) *cobra.Command {
	var graph string
	var labels []string
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the open questions of all runs",
		Long: `pending lists every open question of every run: of paused runs, and of running and
crashed ones, whose other branches may not have ended yet. graphrun answer answers them.`,
		Example:           "  graphrun runs pending\n  graphrun runs pending --label team=ops -o json | jq -r '.[] | .run + \" \" + .target'",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(*cobra.Command, []string) error {
			filter := store.RunFilter{Graph: graph, Status: []machine.Status{machine.Paused, machine.Running}}
			var err error
			if filter.Labels, err = readLabels(labels); err != nil {
				return err
			}
			found, err := a.pendingOf(filter)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.Stdout, found, a.StdoutTerminal)
			}
			return a.printPending(found)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&graph, "graph", "", "only runs of the graph with this NAME")
	flags.StringArrayVar(&labels, "label", nil, "only runs with the label key=value; repeatable, all must match")
	complete(cmd, "graph", nil)
	complete(cmd, "label", nil)
	enumFlag(cmd, flags, &output, "output", "o", "output format")
	return cmd
}

// pendingOf are the open questions of the runs that a filter lets through, those of
// the run that started first first.
func (a *app) pendingOf(filter store.RunFilter) ([]inspect.Question, error) {
	kept, err := a.readStore()
	if err != nil {
		return nil, err
	}
	runs, err := kept.List(filter)
	if err != nil {
		return nil, err
	}
	r, err := a.newRunner(kept, nil)
	if err != nil {
		return nil, err
	}
	out := []inspect.Question{}
	for i := range runs {
		line := &runs[len(runs)-1-i]
		result, err := r.Show(line.ID, runner.Options{})
		if err != nil {
			fmt.Fprintf(a.Stderr, "graphrun: run %s can't be read: %v\n", line.ID, err)
			continue
		}
		out = append(out, inspect.Questions(result)...)
	}
	return out, nil
}

func (a *app) printPending(found []inspect.Question) error {
	if len(found) == 0 {
		fmt.Fprintln(a.Stderr, "no run asks anything")
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tQUESTION\tASKS\tUNTIL")
	for i := range found {
		q := &found[i]
		until := ""
		if q.Due != nil {
			until = q.Due.Local().Format(time.DateTime)
		}
		asks := terminal.Truncate(terminal.Line(q.Prompt), maxSummaryValue)
		if q.Kind != "tool" { // the question about a call says itself what may be answered
			asks += legalAnswers(q.Schema, q.Fields)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", q.Run, q.Target, asks, until)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "answer with: graphrun answer RUN QUESTION=VALUE")
	return nil
}

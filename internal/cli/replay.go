// The replay command: a recorded run through the machine once more.

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	runFilterFlags
	all    bool
	with   string
	output enum
}

func newReplayCommand(a *app) *cobra.Command {
	f := replayFlags{output: newEnum("text", "json", "text")}
	cmd := &cobra.Command{
		Use:   "replay RUN | --all [--graph NAME]",
		Short: "Walk recorded runs again without executing anything, and compare",
		Long: `replay walks a recorded run again with the recorded outputs and answers. It executes
nothing, and checks that every decision is the same.

--with FILE walks another version of the graph. It shows the first step that leads
elsewhere and the change that causes it: another start, a node that is defined
differently (and where), a limit that is hit, a missing input. If a node has another
kind, replay executes it if it needs nothing from outside, else it takes the recorded
output. The walk ends at a node that never ran.

Exit codes: 0 the same, 1 diverged, 2 no such run, 3 the file is not valid.`,
		Example: `  graphrun replay nightly
  graphrun replay nightly --with flow.yaml
  graphrun replay --all --graph deploy --with deploy.yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return usagef("--all and the id of a run exclude each other")
			case !f.all:
				if err := oneRun(cmd, args); err != nil {
					return err
				}
			}
			return a.replay(&f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "every run that --graph, --status, --label, --session and --parent select")
	flags.StringVar(&f.with, "with", "", "FILE of the graph to walk, instead of the recorded one")
	addRunFilterFlags(a, cmd, &f.runFilterFlags)
	enumFlag(cmd, flags, &f.output, "output", "o", "output format")
	return cmd
}

// replayed is what a replay came to. Divergence is null when there is none.
type replayed struct {
	RunID      string           `json:"run_id"`
	Steps      int              `json:"steps"`
	Same       bool             `json:"same"`
	Divergence *view.Divergence `json:"divergence"`
	Error      string           `json:"error,omitempty"`
}

func (a *app) replay(f *replayFlags, ids []string) error {
	kept, err := a.readStore()
	if err != nil {
		return err
	}
	if f.all {
		runs, err := f.find(kept, store.RunFilter{})
		if err != nil {
			return err
		}
		for i := range runs {
			ids = append(ids, runs[i].ID)
		}
	} else {
		record, err := a.findRun(kept, ids[0])
		if err != nil {
			return err
		}
		ids = []string{record.ID}
	}
	r, err := a.newRunner(kept, nil)
	if err != nil {
		return err
	}
	var flow *runner.Flow
	if f.with != "" {
		g, err := a.loadFlow(f.with)
		if err != nil {
			return err
		}
		if flow, err = r.Prepare(g); err != nil {
			return err
		}
	}
	var all []replayed
	for _, id := range ids {
		all = append(all, replayOne(r, id, flow))
	}
	return a.printReplays(f, all)
}

func replayOne(r *runner.Runner, id string, flow *runner.Flow) replayed {
	result, divergence, err := r.Verify(id, flow)
	out := replayed{RunID: id, Same: err == nil && divergence == nil, Divergence: divergence}
	if result != nil {
		out.Steps = len(result.Path)
	}
	if err != nil {
		var invalid *runner.InvalidError
		out.Error = err.Error()
		if errors.As(err, &invalid) {
			out.Error = "the recorded graph is not valid any more: " + out.Error
		}
	}
	return out
}

func (a *app) printReplays(f *replayFlags, all []replayed) error {
	differ := 0
	for i := range all {
		if !all[i].Same {
			differ++
		}
	}
	switch {
	case f.output.value == "json" && f.all:
		if all == nil {
			all = []replayed{}
		}
		if err := writeJSON(a.Stdout, all, a.StdoutTerminal); err != nil {
			return err
		}
	case f.output.value == "json":
		if err := writeJSON(a.Stdout, all[0], a.StdoutTerminal); err != nil {
			return err
		}
	default:
		for i := range all {
			for _, line := range replayLines(&all[i]) {
				fmt.Fprintln(a.Stdout, line)
			}
		}
		if f.all {
			fmt.Fprintf(a.Stdout, "%s, %d diverged\n", terminal.Count(len(all), "run"), differ)
		}
	}
	if differ > 0 {
		return silent(exitFailed)
	}
	return nil
}

// replayLines tell a person what a replay came to.
func replayLines(r *replayed) []string {
	d := r.Divergence
	switch {
	case r.Error != "":
		return []string{r.RunID + "  can't be replayed: " + terminal.Line(r.Error)}
	case d == nil:
		return []string{fmt.Sprintf("%s  same after %s", r.RunID, terminal.Count(r.Steps, "step"))}
	}
	head := r.RunID + "  diverged"
	if d.Step > 0 {
		head += fmt.Sprintf(" at step %d, %s", d.Step, d.Node)
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "no node"
		}
		return strings.Join(names, ", ")
	}
	out := []string{head, "  recorded: " + list(d.Recorded)}
	for _, why := range d.RecordedWhy {
		out = append(out, "    "+terminal.Line(why))
	}
	out = append(out, "  now:      "+list(d.Now))
	for _, why := range d.Why {
		out = append(out, "    "+terminal.Line(why))
	}
	if len(d.NeverRan) > 0 {
		out = append(out, fmt.Sprintf("  the walk ends here: %s never ran, what it would give is not known", strings.Join(d.NeverRan, ", ")))
	}
	return out
}

// The replay command: apply the events of a run again.

package cli

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/eval"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

type replayFlags struct {
	runFilterFlags
	all  bool
	with string
}

func newReplayCommand(a *app) *cobra.Command {
	var f replayFlags
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
		ValidArgsFunction: byPosition(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return usagef("--all and the id of a run exclude each other")
			case !f.all:
				if err := oneRun(cmd, args); err != nil {
					return err
				}
			}
			return a.replay(cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "every run that --graph, --status, --label, --session and --parent select")
	flags.StringVar(&f.with, "with", "", "FILE of the graph to walk, instead of the recorded one")
	addRunFilterFlags(a, cmd, &f.runFilterFlags)
	return withOutput(cmd)
}

// replayed is the JSON of a replay. Divergence is null if there is none.
type replayed struct {
	RunID      string           `json:"run_id"`
	Steps      int              `json:"steps"`
	Same       bool             `json:"same"`
	Divergence *view.Divergence `json:"divergence"`
	Error      string           `json:"error,omitempty"`
}

func (a *app) replay(cmd *cobra.Command, f *replayFlags, ids []string) error {
	kept, r, err := a.openReader()
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
	all, lines, differ := []replayed{}, []string(nil), 0
	for _, id := range ids {
		one := replayOne(r, id, flow)
		all, lines = append(all, one), append(lines, replayLines(&one)...)
		if !one.Same {
			differ++
		}
	}
	var v any = all
	if f.all {
		lines = append(lines, fmt.Sprintf("%s, %d diverged", eval.Count(len(all), "run"), differ))
	} else {
		v = all[0]
	}
	if err := a.print(cmd, v, func() error { return a.printLines(lines) }); err != nil || differ == 0 {
		return err
	}
	return silent(exitFailed)
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

// replayLines describes the result of a replay as text.
func replayLines(r *replayed) []string {
	switch {
	case r.Error != "":
		return []string{r.RunID + "  can't be replayed: " + terminal.Line(r.Error)}
	case r.Divergence == nil:
		return []string{fmt.Sprintf("%s  same after %s", r.RunID, eval.Count(r.Steps, "step"))}
	}
	return runview.FormatDivergence(r.RunID+"  diverged", r.Divergence)
}

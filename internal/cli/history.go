// The logs, why and replay commands: what a run said, decided and would do again.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

func newLogsCommand(a *app) *cobra.Command {
	var follow, times bool
	var streams enumList
	cmd := a.addRunReader(&cobra.Command{
		Use:               "logs RUN [NODE[#VISIT]]",
		Args:              requireArgs(1, 2, "the id of a run (last: the latest one) and perhaps a node"),
		ValidArgsFunction: completeByPosition(a.listRunIDs, nodeCandidates(a.parseNamedRun, "", "")),
	}, func(cmd *cobra.Command, r *recordedRun, args []string) error {
		g := parseRecordedGraph(&r.record)
		filter := logFilter{streams: streams.values}
		if len(args) > 0 {
			if err := filter.selectNode(g, args[0]); err != nil {
				return err
			}
		}
		out := runview.NewLogPrinter(a.Stdout, a.newStdoutColors(), g, outputFormat(cmd), times)
		ctx, stop := a.cancelOnInterrupt(cmd.Context())
		defer stop()
		err := r.runner.Logs(ctx, r.record.ID, follow, func(c *store.LogChunk) error {
			if !filter.matches(c) {
				return nil
			}
			return out.Chunk(c)
		})
		return errors.Join(r.explainReadError(mapInterrupt(err)), out.Close())
	})
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "keep printing until the run has ended")
	flags.BoolVarP(&times, "timestamps", "t", false, "begin each line with its time")
	addEnumListFlag(cmd, &streams, []string{"stderr", "stdout", "text"}, "stream", "only these streams: stdout, stderr, text (default: all)")
	return addOutput(cmd, "text", "json", "raw")
}

// logFilter selects chunks of a log. The zero value selects all.
type logFilter struct {
	node    string // path of the node or element, or "" for all
	visit   int    // 0 for all
	streams []string
}

// selectNode reads NODE or NODE#VISIT.
func (f *logFilter) selectNode(g *spec.Graph, text string) error {
	node, visit, numbered := strings.Cut(text, "#")
	if numbered {
		n, err := strconv.Atoi(visit)
		if err != nil || n < 1 {
			return usagef("visit %q of %q: must be a number from 1", visit, node)
		}
		f.visit = n
	}
	f.node = node
	first, _, nested := strings.Cut(node, "/")
	first, _, _ = strings.Cut(first, "[")
	if err := checkName("no node %q in the graph of the run", first, "nodes", listNodes(g, "", "")); err != nil && !nested {
		return asUsageError(err)
	}
	return nil
}

// matches reports whether the filter selects a chunk. Chunks from inside a node belong to it.
func (f *logFilter) matches(c *store.LogChunk) bool {
	if len(f.streams) > 0 && !slices.Contains(f.streams, c.Stream) || f.visit > 0 && c.Visit != f.visit && f.isAuthor(c) {
		return false
	}
	return f.node == "" || f.isAuthor(c) || f.visit == 0 && (strings.HasPrefix(c.Node, f.node+"/") || strings.HasPrefix(c.Place, f.node+"/"))
}

// isAuthor reports whether the filter's node itself wrote a chunk.
func (f *logFilter) isAuthor(c *store.LogChunk) bool { return c.Node == f.node || c.Place == f.node }

func newWhyCommand(a *app) *cobra.Command {
	return addOutput(a.addRunReader(&cobra.Command{
		Use:               "why RUN [STEP]",
		Args:              requireArgs(1, 2, "the id of a run (last: the latest one) and perhaps a step"),
		ValidArgsFunction: completeByPosition(a.listRunIDs, a.listSteps),
	}, a.explainSteps))
}

func (a *app) explainSteps(cmd *cobra.Command, r *recordedRun, args []string) error {
	step := 0
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return usagef("step %q: must be a number from 1", args[0])
		}
		step = n
	}
	decisions, result, err := inspect.ListDecisions(r.runner, r.record.ID, step)
	if err != nil {
		return r.explainReadError(err)
	}
	if len(decisions) == 0 && step > len(result.Path) {
		return usagef("step %d: run %q has taken %s", step, r.record.ID, eval.Count(len(result.Path), "step"))
	}
	c := a.newStdoutColors()
	var out []string
	for i := range decisions {
		out = append(out, runview.FormatDecision(&decisions[i], c)...)
	}
	if step == 0 {
		out = append(out, runview.FormatFinally(result, c)...)
	}
	if len(decisions) == 0 {
		a.printRemark(cmd, "nothing was decided yet: "+runview.FormatHeadline(result))
	}
	return a.printValue(cmd, decisions, joinLines(out))
}

type replayFlags struct {
	runFilterFlags
	all  bool
	with string
}

func newReplayCommand(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:               "replay RUN | --all [--graph NAME]",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeByPosition(a.listRunIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return usagef("--all and the id of a run exclude each other")
			case !f.all:
				if err := requireRunArg(cmd, args); err != nil {
					return err
				}
			}
			return a.replayRuns(cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "replay every run that --graph, --status, --label, --session and --parent select")
	flags.StringVar(&f.with, "with", "", "FILE of the graph to replay with, instead of the recorded one")
	addRunFilterFlags(a, cmd, &f.runFilterFlags)
	return addOutput(cmd)
}

// replayedRun is the JSON of a replay. Divergence is null if there is none.
type replayedRun struct {
	RunID      string           `json:"run_id"`
	Steps      int              `json:"steps"`
	Same       bool             `json:"same"`
	Divergence *view.Divergence `json:"divergence"`
	Error      string           `json:"error,omitempty"`
}

func (a *app) replayRuns(cmd *cobra.Command, f *replayFlags, ids []string) error {
	kept, r, err := a.openReader()
	if err != nil {
		return err
	}
	if f.all {
		runs, err := f.selectRuns(kept)
		if err != nil {
			return err
		}
		ids = mapSlice(runs, func(r store.RunSummary) string { return r.ID })
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
	all, lines, differ := []replayedRun{}, []string(nil), 0
	for _, id := range ids {
		one := replayRun(r, id, flow)
		all, lines = append(all, one), append(lines, formatReplay(&one)...)
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
	if err := a.printValue(cmd, v, joinLines(lines)); err != nil || differ == 0 {
		return err
	}
	return exitWith(exitFailed)
}

func replayRun(r *runner.Runner, id string, flow *runner.Flow) replayedRun {
	result, divergence, err := r.Verify(id, flow)
	out := replayedRun{RunID: id, Same: err == nil && divergence == nil, Divergence: divergence}
	if result != nil {
		out.Steps = len(result.Path)
	}
	if err != nil {
		if out.Error = err.Error(); hasType[*runner.InvalidError](err) {
			out.Error = "the recorded graph is not valid any more: " + out.Error
		}
	}
	return out
}

func formatReplay(r *replayedRun) []string {
	switch {
	case r.Error != "":
		return []string{r.RunID + "  can't be replayed: " + terminal.Line(r.Error)}
	case r.Divergence == nil:
		return []string{fmt.Sprintf("%s  same after %s", r.RunID, eval.Count(r.Steps, "step"))}
	}
	return runview.FormatDivergence(r.RunID+"  diverged", r.Divergence)
}

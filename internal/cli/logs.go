// The logs command: the output of programs and models.

package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

func newLogsCommand(a *app) *cobra.Command {
	var follow, times bool
	var streams enumList
	cmd := &cobra.Command{
		Use:   "logs RUN [NODE[#VISIT]]",
		Short: "Print what programs and models said",
		Long: `logs prints what the programs of a run wrote to stdout and stderr and what its models
said, in order: of every attempt, failed or not, or only of one node or one visit.
Programs that are tools, and the stderr of tool servers, appear with the tool's name.

Each line begins with the node and its source: | is stdout, ! stderr, > text of a model
or of a program's events. The first and the last 64 KiB of each stream of an attempt are
kept; a line says how much is missing in between.

--follow prints until the run has ended, also in another process, and does not slow the
run. The text of a node that writes a secret key comes when the node has ended. -o json
prints one object per line, -o raw only the bytes, unchanged except for masked secrets.`,
		Example:           "  graphrun logs last\n  graphrun logs nightly test#2 --stream stderr -t\n  graphrun logs last -f",
		Args:              takes(1, 2, "the id of a run (last: the latest one) and perhaps a node"),
		ValidArgsFunction: byPosition(a.runIDs, nodesOf(a.runNamed, "", "")),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.openRecorded(args[0])
			if err != nil {
				return err
			}
			g := recordedGraph(&r.record)
			filter := logFilter{streams: streams.values}
			if len(args) == 2 {
				if err := filter.name(g, args[1]); err != nil {
					return err
				}
			}
			out := runview.NewLogPrinter(a.Stdout, a.stdoutColors(), g, formatOf(cmd), times)
			err = a.readLogs(cmd.Context(), r, follow, &filter, out)
			return errors.Join(err, out.Close())
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "keep printing until the run has ended")
	flags.BoolVarP(&times, "timestamps", "t", false, "begin each line with its time")
	enumListFlag(cmd, &streams, []string{"stderr", "stdout", "text"}, "stream", "only these: stdout, stderr, text (default: all)")
	return withOutput(cmd, "text", "json", "raw")
}

// readLogs passes log chunks to a printer until an interrupt.
func (a *app) readLogs(ctx context.Context, r *recorded, follow bool, filter *logFilter, out *runview.LogPrinter) error {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	err := r.runner.Logs(ctx, r.record.ID, follow, func(c *store.LogChunk) error {
		if !filter.matches(c) {
			return nil
		}
		return out.Chunk(c)
	})
	return r.unreadable(interruptedAs(err))
}

// logFilter selects chunks of a log. The zero value selects all.
type logFilter struct {
	node    string // path of the node or element; "" for all
	visit   int    // 0 for all
	streams []string
}

// name reads NODE or NODE#VISIT.
func (f *logFilter) name(g *spec.Graph, text string) error {
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
	if err := checkName("no node %q in the graph of the run", first, "nodes", nodeNames(g, "", "")); err != nil && !nested {
		return usage(err)
	}
	return nil
}

// matches reports whether the filter selects a chunk. Chunks from inside a node belong to it.
func (f *logFilter) matches(c *store.LogChunk) bool {
	if len(f.streams) > 0 && !slices.Contains(f.streams, c.Stream) || f.visit > 0 && c.Visit != f.visit && f.is(c) {
		return false
	}
	return f.node == "" || f.is(c) || f.visit == 0 && (strings.HasPrefix(c.Node, f.node+"/") || strings.HasPrefix(c.Place, f.node+"/"))
}

// is reports whether a chunk comes from the node itself.
func (f *logFilter) is(c *store.LogChunk) bool { return c.Node == f.node || c.Place == f.node }

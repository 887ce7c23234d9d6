// The mcp command: flows as tools, over stdin and stdout.

package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/mcpserver"
	"github.com/graphrun/graphrun/internal/serve"
)

func newMCPCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "mcp [DIR]",
		Short: "Serve flows as MCP tools on stdin and stdout",
		Long: `mcp serves flows over the Model Context Protocol on stdin and stdout. Each valid flow
below DIR (default: the working directory) is a tool that takes the flow's inputs. A call
runs the flow, reports its steps as progress, and returns its result. If the run asks a
person, the client asks (elicitation). A client that can't gets the question with the
run's id and answers it with the tool graphrun_answer.

Runs are kept in the store like all others. When the client disconnects, running nodes
have 5 seconds to end; the next mcp or serve of the folder continues the rest. graphrun
serve offers the same over HTTP, at /mcp.`,
		Example: `  graphrun mcp flows
  claude mcp add flows -- graphrun mcp /path/to/flows`,
		Args:    oneFolder,
		PreRunE: a.loadFolderSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.mcp(cmd.Context(), &f, dir)
		},
	}
	cmd.Flags().IntVar(&f.maxRuns, "max-runs", 100, "most runs to drive at once")
	complete(cmd, "max-runs", nil)
	setting(cmd.Flags(), "max-runs")
	return cmd
}

func (a *app) mcp(ctx context.Context, f *serveFlags, dir string) error {
	if f.maxRuns < 1 {
		return usagef("--max-runs %d: must be at least 1", f.maxRuns)
	}
	s, err := a.newServing(f, dir, func(*serve.Config) {})
	if err != nil {
		return err
	}
	defer func() { _ = s.flows.Close() }() // it was only read
	ctx, stop := a.interruptible(ctx)
	defer stop()
	tended := make(chan error, 1)
	go func() { tended <- s.fleet.Tend(ctx) }()
	err = mcpserver.Serve(ctx, s.tools, io.NopCloser(a.Stdin), noClose{a.Stdout})
	stop()
	s.fleet.Stop(stopGrace)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, <-tended)
}

// noClose is a stream that stays open.
type noClose struct{ io.Writer }

// Close does nothing.
func (noClose) Close() error { return nil }

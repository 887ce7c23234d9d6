// The cache command: node results that are kept between runs.

package cli

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/spf13/cobra"
)

func newCacheCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cache",
		Short:   "Delete stored results of nodes",
		Long:    "cache manages the stored results of nodes that have a cache block.",
		Example: "  graphrun cache clear",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCacheClearCommand(a))
	return cmd
}

func newCacheClearCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "clear [FLOW [NODE...]]",
		Short: "Delete stored results of all graphs, one graph or some of its nodes",
		Long: `clear deletes the stored results of nodes with a cache block: of every graph, of one
graph, or of some of its nodes. It prints how many there were.`,
		Example: `  graphrun cache clear
  graphrun cache clear flow.yaml fetch -o json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeFlowNodes,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := a.clearCache(args)
			switch {
			case err != nil:
				return err
			case output.value == "json":
				return writeJSON(a.Stdout, map[string]int{"forgotten": n}, a.StdoutTerminal)
			}
			fmt.Fprintf(a.Stdout, "%s forgotten\n", terminal.Count(n, "result"))
			return nil
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// clearCache returns how many results it forgot.
func (a *app) clearCache(args []string) (int, error) {
	name := ""
	var nodes []string
	if len(args) > 0 {
		g, err := a.loadFlow(args[0])
		if err != nil {
			return 0, err
		}
		name, nodes = g.Name.Value, args[1:]
		var problems []error
		for _, id := range nodes {
			if err := checkNode(g, id, false); err != nil {
				problems = append(problems, err)
			}
		}
		if len(problems) > 0 {
			return 0, usage(errors.Join(problems...))
		}
	}
	if len(nodes) == 0 {
		nodes = nil // all
	}
	kept, err := a.openStore()
	if err != nil {
		return 0, err
	}
	return kept.ClearCache(name, nodes)
}

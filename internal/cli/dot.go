// The dot command: a graph as Graphviz DOT.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/render"
)

func newDotCommand(a *app) *cobra.Command {
	rankdir := newEnum("TB", "LR", "TB")
	var opts render.Options
	cmd := &cobra.Command{
		Use:   "dot FLOW",
		Short: "Draw a graph in Graphviz DOT",
		Long: `dot prints a graph in the DOT language of Graphviz on stdout; - reads it from stdin.

Boxes are coloured by kind. Solid arrows have a condition, dashed ones are taken
when none matched, red ones after a failure, violet ones when a model chooses them,
and dotted ones when a goto names them. The same file always gives the same bytes.`,
		Example: `  graphrun dot flow.yaml | dot -Tsvg -o flow.svg
  graphrun dot flow.yaml --rankdir LR --no-start-end --label "Triage"`,
		Args:              oneFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := a.loadFlow(args[0])
			if err != nil {
				return err
			}
			return render.WriteDOT(a.Stdout, render.Draw(g, opts), render.DOTOptions{RankDir: rankdir.value})
		},
	}
	flags := cmd.Flags()
	enumFlag(cmd, flags, &rankdir, "rankdir", "", "direction: TB is top to bottom, LR left to right")
	flags.BoolVar(&opts.NoStartEnd, "no-start-end", false, "leave out the start and END marks and the arrows to them")
	flags.BoolVar(&opts.NoDestinations, "no-destinations", false, "leave out the arrows to the targets of goto")
	flags.StringVar(&opts.Label, "label", "", "title of the drawing (default: the graph's name)")
	complete(cmd, "label", nil)
	setting(flags, "rankdir", "no-start-end", "no-destinations")
	return cmd
}

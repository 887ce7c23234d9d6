// The dot command: a graph as Graphviz DOT.

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/render"
)

func newDotCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	var f drawFlags
	cmd := &cobra.Command{
		Use:   "dot [FLOW]",
		Short: "Draw a graph in Graphviz DOT",
		Long: `dot prints a graph in the DOT language of Graphviz on stdout; - reads it from stdin.

Boxes are coloured by kind. Dashed arrows are taken when no condition beside them
matched, red ones after a failure, violet ones when a model chooses them, and dotted
ones when a goto names them. The same file always gives the same bytes.

--run paints a run, and FLOW may be left out then: nodes that ran are thick, with a count
(×3), others pale. A red edge means that visits failed (×3, 2 failed), all red that the
run failed there, orange that it waits for a person, blue that it is there now. A graph of
the file (graphs) is painted with the sum of all nodes that ran it. --coverage paints red
what no test reaches.`,
		Example: `  graphrun dot flow.yaml | dot -Tsvg -o flow.svg
  graphrun dot --run nightly | dot -Tsvg -o nightly.svg
  graphrun dot flow.yaml --rankdir LR --no-start-end --label "Triage"`,
		Args:              f.requireFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			drawn, err := a.draw(flowPath(args), &f, false)
			if err != nil {
				return err
			}
			dotOptions := render.DOTOptions{RankDir: f.rankdir.value}
			if output.value == "text" {
				return render.WriteDOT(a.Stdout, drawn.drawing, dotOptions)
			}
			var text strings.Builder
			if err := render.WriteDOT(&text, drawn.drawing, dotOptions); err != nil {
				return err
			}
			return writeJSON(a.Stdout, dotText{drawn.graph.Name.Value, text.String()}, a.StdoutTerminal)
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format: json is an object that holds the text")
	a.addDrawFlags(cmd, &f)
	return cmd
}

// dotText is a drawing in DOT as JSON.
type dotText struct {
	Graph string `json:"graph"`
	DOT   string `json:"dot"`
}

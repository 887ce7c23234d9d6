// The dot command: a graph as Graphviz DOT.

package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

func newDotCommand(a *app) *cobra.Command {
	rankdir, output := newEnum("TB", "LR", "TB"), newEnum("text", "json", "text")
	var opts render.Options
	var run string
	cmd := &cobra.Command{
		Use:   "dot FLOW",
		Short: "Draw a graph in Graphviz DOT",
		Long: `dot prints a graph in the DOT language of Graphviz on stdout; - reads it from stdin.

Boxes are coloured by kind. A dashed arrow is taken when no condition beside it
matched, red ones after a failure, violet ones when a model chooses them, and dotted
ones when a goto names them. The same file always gives the same bytes.

--run paints what a run did: thick where it came through, with how often (×3), pale
where it did not, with a red edge where visits failed (×3, 2 failed), red all over
where the run failed, orange where it waits for a person.`,
		Example: `  graphrun dot flow.yaml | dot -Tsvg -o flow.svg
  graphrun dot flow.yaml --run nightly | dot -Tsvg -o nightly.svg
  graphrun dot flow.yaml --rankdir LR --no-start-end --label "Triage"`,
		Args:              oneFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := a.loadFlow(args[0])
			if err != nil {
				return err
			}
			if run != "" {
				if g, opts.Trail, err = a.trail(g, run); err != nil {
					return err
				}
			}
			drawing, dotOptions := render.Draw(g, opts), render.DOTOptions{RankDir: rankdir.value}
			if output.value == "text" {
				return render.WriteDOT(a.Stdout, drawing, dotOptions)
			}
			var text strings.Builder
			if err := render.WriteDOT(&text, drawing, dotOptions); err != nil {
				return err
			}
			return writeJSON(a.Stdout, drawn{g.Name.Value, text.String()}, a.StdoutTerminal)
		},
	}
	flags := cmd.Flags()
	enumFlag(cmd, flags, &output, "output", "o", "form of the output: json is an object that holds the text")
	enumFlag(cmd, flags, &rankdir, "rankdir", "", "direction: TB is top to bottom, LR left to right")
	flags.BoolVar(&opts.NoStartEnd, "no-start-end", false, "leave out the start and END marks and the arrows to them")
	flags.BoolVar(&opts.NoDestinations, "no-destinations", false, "leave out the arrows to the targets of goto")
	flags.StringVar(&opts.Label, "label", "", "title of the drawing (default: the graph's name)")
	flags.StringVar(&run, "run", "", "the RUN to paint on the drawing")
	complete(cmd, "label", nil)
	if err := cmd.RegisterFlagCompletionFunc("run", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return a.completeRun(cmd, nil, word)
	}); err != nil {
		panic(err) // a mistake in this package, seen by every test
	}
	setting(flags, "rankdir", "no-start-end", "no-destinations")
	return cmd
}

// drawn is a drawing as JSON.
type drawn struct {
	Graph string `json:"graph"`
	DOT   string `json:"dot"`
}

// trail is what a run of a graph came through, and the graph as it was then.
func (a *app) trail(g *spec.Graph, id string) (*spec.Graph, *render.Trail, error) {
	r, err := a.lookAt(id)
	if err != nil {
		return nil, nil, err
	}
	id = r.record.ID
	if name := g.Name.Value; r.record.Graph != name {
		return nil, nil, usagef("run %q is of graph %q, not of %q", id, r.record.Graph, name)
	}
	if !bytes.Equal(g.File.Src, r.record.Source) {
		fmt.Fprintf(a.Stderr, "graphrun: %s is not what run %q was started with; drawing the graph as it was\n", g.File.Name, id)
		g = recordedGraph(&r.record)
	}
	result, err := r.show(-1, true, nil)
	if err != nil {
		return nil, nil, err
	}
	return g, trailOf(result), nil
}

func trailOf(r *runner.Result) *render.Trail {
	t := &render.Trail{Visits: map[string]int{}, Fired: map[int]int{}, Gone: map[[2]string]int{}, Failures: map[string]int{}}
	for _, node := range r.Path {
		t.Visits[node]++
	}
	for _, f := range r.Finally {
		if f.Outcome != "skipped" {
			t.Visits[f.Node]++
		}
		if f.Outcome == "failure" {
			t.Failures[f.Node]++
		}
	}
	for _, h := range r.History {
		if h.Outcome == "failure" {
			t.Failures[h.Node]++
		}
		for _, edge := range h.Edges {
			t.Fired[edge]++
		}
		if len(h.Edges) == 0 { // a goto, or no way on
			for _, to := range h.Next {
				t.Gone[[2]string{h.Node, to}]++
			}
		}
	}
	if r.Error != nil {
		t.Failed = r.Error.Node
	}
	for i := range r.Pending {
		node, _, _ := strings.Cut(r.Pending[i].Node, "/")
		t.Waiting = append(t.Waiting, node)
	}
	if r.PausedAt != nil && r.PausedAt.Phase == "before" {
		t.Waiting = append(t.Waiting, r.PausedAt.Nodes...)
	}
	return t
}

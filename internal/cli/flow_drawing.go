// Drawings of flows, with what a run or tests made of them: what dot and render
// have in common.

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// drawFlags are the flags of commands that draw.
type drawFlags struct {
	rankdir  enum
	opts     render.Options
	run      string
	coverage string
}

// layoutFlags are those that only pictures know.
func layoutFlags() []string { return []string{"rankdir", "no-start-end", "no-destinations", "label"} }

// addDrawFlags adds the flags to a command.
func (a *app) addDrawFlags(cmd *cobra.Command, f *drawFlags) {
	f.rankdir = newEnum("TB", "LR", "TB")
	flags := cmd.Flags()
	enumFlag(cmd, flags, &f.rankdir, "rankdir", "", "direction: TB is top to bottom, LR left to right")
	flags.BoolVar(&f.opts.NoStartEnd, "no-start-end", false, "leave out the start and END marks and the arrows to them")
	flags.BoolVar(&f.opts.NoDestinations, "no-destinations", false, "leave out the arrows to the targets of goto")
	flags.StringVar(&f.opts.Label, "label", "", "title of the drawing (default: the graph's name)")
	flags.StringVar(&f.run, "run", "", "RUN to paint on the drawing")
	flags.StringVar(&f.coverage, "coverage", "", "`FILE` that test --format json wrote: paint the coverage")
	complete(cmd, "label", nil)
	if err := cmd.RegisterFlagCompletionFunc("run", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return a.completeRun(cmd, nil, word)
	}); err != nil {
		panic(err) // a mistake in this package, seen by every test
	}
	setting(flags, "rankdir", "no-start-end", "no-destinations")
}

// drawn is a flow that has been drawn.
type drawn struct {
	graph   *spec.Graph
	drawing *render.Drawing
	open    *inspect.Opener
	// run is what was painted; nil without --run.
	run *inspect.Painted
}

// draw reads a flow and draws it with what the flags want painted. With whole it
// keeps all that is told of the run.
func (a *app) draw(path string, f *drawFlags, whole bool) (*drawn, error) {
	if f.run != "" && f.coverage != "" {
		return nil, usagef("--run and --coverage exclude each other")
	}
	var g *spec.Graph
	var err error
	out, opts := &drawn{}, f.opts
	var load func(string) ([]byte, error)
	if path != "" {
		if g, err = a.loadFlow(path); err != nil {
			return nil, err
		}
		out.graph, load = g, spec.Beside(g.File.Name)
	}
	switch {
	case f.run != "":
		if out.run, err = a.paintedRun(g, f.run, whole); err != nil {
			return nil, err
		}
		out.graph, load, opts.Trail = recordedGraph(&out.run.Record), out.run.Record.Load, out.run.Trail
	case f.coverage != "":
		if opts.Trail, err = readCoverage(f.coverage, g); err != nil {
			return nil, err
		}
	}
	out.open = inspect.NewOpener(out.graph, load)
	opts.Open = out.open.Open
	out.drawing = render.Draw(out.graph, opts)
	return out, nil
}

// requireFlow checks that a FLOW is given; it may be left out with --run.
func (f *drawFlags) requireFlow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && f.run != "" {
		return nil
	}
	return oneFlow(cmd, args)
}

// flowPath returns the FLOW argument, or "" if there is none.
func flowPath(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// paintedRun finds a run and replays it. With a graph, the run must be one of that graph.
func (a *app) paintedRun(g *spec.Graph, id string, whole bool) (*inspect.Painted, error) {
	r, err := a.lookAt(id)
	if err != nil {
		return nil, err
	}
	if g != nil && r.record.Graph != g.Name.Value {
		return nil, usagef("run %q is of graph %q, not of %q", r.record.ID, r.record.Graph, g.Name.Value)
	}
	if g != nil && !bytes.Equal(g.File.Src, r.record.Source) {
		fmt.Fprintf(a.Stderr, "graphrun: %s is not what run %q was started with; drawing the graph as it was\n", g.File.Name, r.record.ID)
	}
	painted, err := inspect.Paint(r.runner, &r.record, whole)
	return painted, r.unreadable(err)
}

// readCoverage reads what tests cover of a graph from what test printed.
func readCoverage(path string, g *spec.Graph) (*render.Trail, error) {
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, usage(err)
	}
	var report struct {
		Coverage map[string]*flowtest.Coverage `json:"coverage"`
	}
	if err := json.Unmarshal(src, &report); err != nil {
		return nil, usagef("--coverage %s: not what test --format json prints: %v", path, err)
	}
	names := slices.Sorted(maps.Keys(report.Coverage))
	own := inspect.AbsolutePath(g.File.Name)
	for _, name := range names {
		for _, from := range []string{"", filepath.Dir(path)} {
			if inspect.AbsolutePath(filepath.Join(from, name)) == own || filepath.IsAbs(name) && name == own {
				return coverageTrail(report.Coverage[name], g), nil
			}
		}
	}
	if len(names) == 0 {
		return nil, usagef("--coverage %s: holds no coverage", path)
	}
	return nil, usagef("--coverage %s: says nothing of %s, it covers %s", path, g.File.Name, strings.Join(names, ", "))
}

// coverageTrail is what tests came to. Of targets of goto they say nothing.
func coverageTrail(c *flowtest.Coverage, g *spec.Graph) *render.Trail {
	t := &render.Trail{Coverage: true, Visits: map[string]int{}, Fired: map[int]int{}}
	for _, n := range g.Nodes {
		if !slices.Contains(c.Nodes.Missing, n.ID.Value) {
			t.Visits[n.ID.Value] = 1
		}
	}
	for i, name := range flowtest.EdgeNames(g) {
		if !slices.Contains(c.Edges.Missing, name) {
			t.Fired[i] = 1
		}
	}
	return t
}

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
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
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
	flags.StringVar(&f.run, "run", "", "the RUN to paint on the drawing")
	flags.StringVar(&f.coverage, "coverage", "", "`FILE` that test --format json wrote: paint what tests cover")
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
	open    *opener
	// run is what was painted; nil without --run.
	run *paintedRun
}

// paintedRun is a run that is painted on a drawing.
type paintedRun struct {
	*recorded
	result *runner.Result
	// events and decided are what a page tells of it.
	events  pageSink
	decided *decisions
}

// draw reads a flow and draws it with what the flags want painted. With whole it
// keeps all that is told of the run.
func (a *app) draw(path string, f *drawFlags, whole bool) (*drawn, error) {
	if f.run != "" && f.coverage != "" {
		return nil, usagef("--run and --coverage exclude each other")
	}
	g, err := a.loadFlow(path)
	if err != nil {
		return nil, err
	}
	out := &drawn{graph: g}
	opts, load := f.opts, spec.Beside(g.File.Name)
	switch {
	case f.run != "":
		if out.run, err = a.paintedRun(g, f.run); err != nil {
			return nil, err
		}
		out.graph, load = recordedGraph(&out.run.record), out.run.record.Load
		if opts.Trail, err = out.run.trail(whole); err != nil {
			return nil, err
		}
	case f.coverage != "":
		if opts.Trail, err = readCoverage(f.coverage, g); err != nil {
			return nil, err
		}
	}
	out.open = newOpener(out.graph, load)
	opts.Open = out.open.open
	out.drawing = render.Draw(out.graph, opts)
	return out, nil
}

// paintedRun finds a run of a graph.
func (a *app) paintedRun(g *spec.Graph, id string) (*paintedRun, error) {
	r, err := a.lookAt(id)
	if err != nil {
		return nil, err
	}
	if name := g.Name.Value; r.record.Graph != name {
		return nil, usagef("run %q is of graph %q, not of %q", r.record.ID, r.record.Graph, name)
	}
	if !bytes.Equal(g.File.Src, r.record.Source) {
		fmt.Fprintf(a.Stderr, "graphrun: %s is not what run %q was started with; drawing the graph as it was\n", g.File.Name, r.record.ID)
	}
	return &paintedRun{recorded: r, decided: newDecisions()}, nil
}

// opener finds the graphs that nodes run, each file once.
type opener struct {
	load   func(path string) ([]byte, error)
	graphs map[string]*spec.Graph // by the paths of their files
}

func newOpener(main *spec.Graph, load func(path string) ([]byte, error)) *opener {
	return &opener{load, map[string]*spec.Graph{absolutePath(main.File.Name): main}}
}

// open returns what a node runs; nil when it can't be had.
func (o *opener) open(g *spec.Graph, n *spec.Node) *spec.Graph {
	name := n.Field("graph")
	if name == nil {
		return nil
	}
	ref := name.Text.Value
	if strings.HasPrefix(ref, "#") {
		return g.Inner(ref)
	}
	path := filepath.FromSlash(ref)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(absolutePath(g.File.Name)), path)
	}
	if known, ok := o.graphs[path]; ok {
		return known
	}
	o.graphs[path] = nil
	if src, err := o.load(path); err == nil {
		o.graphs[path], _ = spec.Parse(path, src, spec.Options{Load: func(text string) ([]byte, error) {
			if !filepath.IsAbs(text) {
				text = filepath.Join(filepath.Dir(path), text)
			}
			return o.load(text)
		}})
	}
	return o.graphs[path]
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
	own := absolutePath(g.File.Name)
	for _, name := range names {
		for _, from := range []string{"", filepath.Dir(path)} {
			if absolutePath(filepath.Join(from, name)) == own || filepath.IsAbs(name) && name == own {
				return coverageTrail(report.Coverage[name], g), nil
			}
		}
	}
	if len(names) == 0 {
		return nil, usagef("--coverage %s: holds no coverage", path)
	}
	return nil, usagef("--coverage %s: says nothing of %s, it covers %s", path, g.File.Name, strings.Join(names, ", "))
}

func absolutePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
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

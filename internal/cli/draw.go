// The dot and render commands: drawings of flows, runs and test coverage.

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/page"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

type drawFlags struct {
	rankdir  enum
	opts     render.Options
	run      string
	coverage string
}

// layoutFlags are the flags of formats with a layout.
var layoutFlags = []string{"rankdir", "no-start-end", "no-destinations", "label"}

func (a *app) addDrawFlags(cmd *cobra.Command, f *drawFlags) {
	f.rankdir = newEnum("TB", "LR", "TB")
	flags := cmd.Flags()
	addEnumFlag(cmd, flags, &f.rankdir, "rankdir", "", "direction: TB is top to bottom, LR left to right")
	flags.BoolVar(&f.opts.NoStartEnd, "no-start-end", false, "omit the start and END marks and the arrows to them")
	flags.BoolVar(&f.opts.NoDestinations, "no-destinations", false, "omit the arrows to the targets of goto")
	flags.StringVar(&f.opts.Label, "label", "", "title of the drawing (default: the graph's name)")
	flags.StringVar(&f.run, "run", "", "RUN to paint on the drawing")
	flags.StringVar(&f.coverage, "coverage", "", "`FILE` that test --format json wrote: paint the coverage")
	completeFlag(cmd, "run", a.listRunIDs)
	markSettings(flags, "rankdir", "no-start-end", "no-destinations")
}

// drawnFlow is a flow with its drawing.
type drawnFlow struct {
	graph   *spec.Graph
	drawing *render.Drawing
	open    *inspect.Opener
	// run is the run that was painted, or nil without --run.
	run *inspect.ReplayedRun
}

// drawFlow reads a flow and draws it, painted with the run or coverage of the flags.
func (a *app) drawFlow(path string, f *drawFlags) (*drawnFlow, error) {
	if f.run != "" && f.coverage != "" {
		return nil, usagef("--run and --coverage exclude each other")
	}
	var g *spec.Graph
	var err error
	out, opts := &drawnFlow{}, f.opts
	var load func(string) ([]byte, error)
	if path != "" {
		if g, err = a.loadFlow(path); err != nil {
			return nil, err
		}
		out.graph, load = g, spec.NewLoader(g.File.Name)
	}
	switch {
	case f.run != "":
		if out.run, err = a.replayRun(g, f.run); err != nil {
			return nil, err
		}
		out.graph, load, opts.Trail = parseRecordedGraph(&out.run.Record), out.run.Record.Load, out.run.Trail
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

// requireFlow checks that a FLOW is given, unless --run names a run.
func (f *drawFlags) requireFlow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && f.run != "" {
		return nil
	}
	return requireFlowArg(cmd, args)
}

// replayRun finds a run and replays it. With a graph, the run must be one of that graph.
func (a *app) replayRun(g *spec.Graph, id string) (*inspect.ReplayedRun, error) {
	r, err := a.openRecordedRun(id)
	if err != nil {
		return nil, err
	}
	if g != nil && r.record.Graph != g.Name.Value {
		return nil, usagef("run %q is of graph %q, not of %q", r.record.ID, r.record.Graph, g.Name.Value)
	}
	if g != nil && !bytes.Equal(g.File.Src, r.record.Source) {
		a.printNote(fmt.Sprintf("%s is not what run %q was started with; drawing the graph as it was", g.File.Name, r.record.ID))
	}
	replayed, err := inspect.ReplayRun(r.runner, &r.record)
	return replayed, r.explainReadError(err)
}

// readCoverage reads the coverage of a graph from the JSON that test printed.
func readCoverage(path string, g *spec.Graph) (*render.Trail, error) {
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, asUsageError(err)
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
				return newCoverageTrail(report.Coverage[name], g), nil
			}
		}
	}
	if len(names) == 0 {
		return nil, usagef("--coverage %s: holds no coverage", path)
	}
	return nil, usagef("--coverage %s: says nothing of %s, it covers %s", path, g.File.Name, strings.Join(names, ", "))
}

// newCoverageTrail converts coverage to a trail. Coverage does not know targets of goto.
func newCoverageTrail(c *flowtest.Coverage, g *spec.Graph) *render.Trail {
	t := render.NewTrail()
	t.Coverage = true
	for _, n := range g.Nodes {
		if !slices.Contains(c.Nodes.Missing, n.ID.Value) {
			t.Node(n.ID.Value).Visits = 1
		}
	}
	for i, name := range flowtest.EdgeNames(g) {
		if !slices.Contains(c.Edges.Missing, name) {
			t.Fired[i] = 1
		}
	}
	return t
}

func newDotCommand(a *app) *cobra.Command {
	var f drawFlags
	cmd := &cobra.Command{
		Use:               "dot [FLOW]",
		Args:              f.requireFlow,
		ValidArgsFunction: completeFlow,
		RunE: func(cmd *cobra.Command, args []string) error {
			drawn, err := a.drawFlow(firstArgument(args, ""), &f)
			if err != nil {
				return err
			}
			var text strings.Builder
			if err := writeDOT(cmd.Context(), &text, drawn, f.rankdir.value); err != nil {
				return err
			}
			return a.printValue(cmd, dotText{drawn.graph.Name.Value, text.String()}, text.String())
		},
	}
	addOutput(cmd)
	cmd.Flag("output").Usage = "output format: json is an object that holds the text"
	a.addDrawFlags(cmd, &f)
	return cmd
}

// dotText is the JSON of a drawing in DOT.
type dotText struct {
	Graph string `json:"graph"`
	DOT   string `json:"dot"`
}

type renderFlags struct {
	drawFlags
	format enum
	file   string
}

// drawingFormat is an output format of render.
type drawingFormat struct {
	picture bool // has a layout
	binary  bool // is not text
	write   func(ctx context.Context, w io.Writer, d *drawnFlow, rankdir string) error
}

// listDrawingFormats returns the formats of render. A format's name is its file extension.
func (a *app) listDrawingFormats() map[string]drawingFormat {
	return map[string]drawingFormat{
		"dot": {picture: true, write: writeDOT},
		"mermaid": {picture: true, write: func(_ context.Context, w io.Writer, d *drawnFlow, rankdir string) error {
			return render.WriteMermaid(w, d.drawing, rankdir)
		}},
		"json": {write: writeDrawingJSON},
		"html": {write: a.writePage},
		"svg":  {picture: true, write: runGraphviz("svg")},
		"png":  {picture: true, binary: true, write: runGraphviz("png")},
	}
}

func writeDOT(_ context.Context, w io.Writer, d *drawnFlow, rankdir string) error {
	return render.WriteDOT(w, d.drawing, rankdir)
}

func newRenderCommand(a *app) *cobra.Command {
	f := renderFlags{format: newEnum("", "dot", "html", "json", "mermaid", "png", "svg")}
	cmd := &cobra.Command{
		Use:               "render [FLOW]",
		Args:              f.requireFlow,
		ValidArgsFunction: completeFlow,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.renderFlow(cmd, &f, firstArgument(args, ""))
		},
	}
	flags := cmd.Flags()
	addEnumFlag(cmd, flags, &f.format, "format", "", "format of the drawing")
	addEnumFlag(cmd, flags, &f.format, "output", "o", "the same as --format")
	flags.StringVarP(&f.file, "output-file", "O", "", "`FILE` to write; default and -: stdout")
	a.addDrawFlags(cmd, &f.drawFlags)
	return cmd
}

func (a *app) renderFlow(cmd *cobra.Command, f *renderFlags, path string) error {
	name, err := f.chooseFormat()
	if err != nil {
		return err
	}
	form := a.listDrawingFormats()[name]
	if !form.picture {
		for _, flag := range layoutFlags {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s: %s has no layout; it goes with dot, mermaid, png and svg", flag, name)
			}
		}
	}
	toStdout := f.file == "" || f.file == "-"
	if form.binary && toStdout && a.StdoutTerminal {
		base := f.run
		if path != "" {
			base = trimExt(filepath.Base(path))
		}
		return usagef("%s is not for a terminal; name a file: -O %s.%s", name, base, name)
	}
	d, err := a.drawFlow(path, &f.drawFlags)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return form.write(cmd.Context(), w, d, f.rankdir.value) }
	if !toStdout {
		return writeFileWith(f.file, write)
	}
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	_, err = a.Stdout.Write(out.Bytes())
	return err
}

// chooseFormat returns the format that the flags or the file name choose.
func (f *renderFlags) chooseFormat() (string, error) {
	if f.format.value != "" {
		return f.format.value, nil
	}
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(f.file), "."))
	ext = cmp.Or(map[string]string{"gv": "dot", "mmd": "mermaid", "htm": "html"}[ext], ext)
	switch {
	case f.file == "" || f.file == "-":
		return "dot", nil
	case slices.Contains(f.format.allowed, ext):
		return ext, nil
	}
	return "", usagef("-O %s: no format ends in %q; say which with --format (allowed: %s)", f.file, filepath.Ext(f.file), strings.Join(f.format.allowed, ", "))
}

func writeDrawingJSON(_ context.Context, w io.Writer, d *drawnFlow, _ string) error {
	out := *d.drawing
	if d.run != nil {
		result := *d.run.Result
		result.History = nil // like runs show
		out.Run = &result
	}
	return writeJSON(w, out, true)
}

func runGraphviz(form string) func(context.Context, io.Writer, *drawnFlow, string) error {
	return func(ctx context.Context, w io.Writer, d *drawnFlow, rankdir string) error {
		program, err := exec.LookPath("dot")
		if err != nil {
			return usagef("%s needs the program dot of Graphviz, which is not installed: "+
				"install the package graphviz, or use --format html, which needs nothing", form)
		}
		var in, said bytes.Buffer
		if err := writeDOT(ctx, &in, d, rankdir); err != nil {
			return err
		}
		dot := exec.CommandContext(ctx, program, "-T"+form)
		dot.Stdin, dot.Stdout, dot.Stderr = &in, w, &said
		if err := dot.Run(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.Join(fmt.Errorf("graphviz: %w", err), errors.New(strings.TrimSpace(said.String())))
		}
		return nil
	}
}

func (a *app) writePage(ctx context.Context, w io.Writer, d *drawnFlow, _ string) error {
	checked := inspect.Check(d.graph.File.Name, d.graph.File.Src, a.rules.EnablesOptional(nil))
	data := inspect.Page{
		Drawing: d.drawing,
		Flow:    inspect.NewFlow(d.graph, shortPath(d.graph.File.Name), a.rules.SelectShown(checked.Found), d.open),
	}
	title := d.graph.Name.Value
	if d.run != nil {
		var err error
		if data.Run, err = d.run.Page(ctx); err != nil {
			return err
		}
		title += " · run " + d.run.Record.ID
	}
	var text bytes.Buffer
	if err := writeJSON(&text, data, false); err != nil {
		return err
	}
	return page.Write(w, title+" · graphrun", text.Bytes())
}

// The render command: a graph as a picture, a text that is one, JSON or a page.

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/render"
)

type renderFlags struct {
	drawFlags
	format enum
	file   string
}

// formats are what render writes, by the name that is also the extension of files.
func (a *app) formats() map[string]format {
	return map[string]format{
		"dot":     {picture: true, write: writeDOT},
		"mermaid": {picture: true, write: writeMermaid},
		"json":    {write: writeDrawing},
		"html": {whole: true, write: func(ctx context.Context, w io.Writer, d *drawn, _ *renderFlags) error {
			return a.writePage(ctx, w, d)
		}},
		"svg": {picture: true, write: byGraphviz("svg")},
		"png": {picture: true, binary: true, write: byGraphviz("png")},
	}
}

// format is a form of drawings; picture: it has a layout; binary: it is no text.
type format struct {
	picture, binary bool
	// whole: it wants all that is told of a run.
	whole bool
	write func(ctx context.Context, w io.Writer, d *drawn, f *renderFlags) error
}

func newRenderCommand(a *app) *cobra.Command {
	f := renderFlags{format: newEnum("", "dot", "html", "json", "mermaid", "png", "svg")}
	cmd := &cobra.Command{
		Use:   "render [FLOW]",
		Short: "Draw a graph as a picture, a page, Mermaid or JSON",
		Long: `render draws a graph; - reads it from stdin. --format picks the format, else the
extension of the -O file (.mmd is mermaid, .gv is dot), else it is dot:

  dot      the language of Graphviz, as graphrun dot prints it
  mermaid  a Mermaid flowchart, which GitHub and many editors show in Markdown
  json     nodes, edges and subgraphs; "graphrun schema drawing" describes it
  html     a page to click through, in one file that needs nothing else: the graph, its
           source and findings; with --run every step of the run with its state, why it
           continued where it did, and what was said
  svg png  a picture; needs Graphviz's program dot

--run paints a run, and FLOW may be left out then; --coverage paints what tests reach.
Both look as in graphrun dot; in JSON they are numbers.

Exit codes: 0, 2 wrong usage or no Graphviz, 3 invalid file.`,
		Example: `  graphrun render flow.yaml -O flow.svg
  graphrun render --run nightly -O nightly.html
  graphrun render flow.yaml --format mermaid
  graphrun render flow.yaml --run nightly --format json | jq '.nodes[] | {id, status, visits}'
  graphrun test --format json > tests.json; graphrun render flow.yaml --coverage tests.json -O covered.svg`,
		Args:              f.requireFlow,
		ValidArgsFunction: completeFlow,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.render(cmd, &f, flowPath(args))
		},
	}
	flags := cmd.Flags()
	enumFlag(cmd, flags, &f.format, "format", "", "format of the drawing")
	enumFlag(cmd, flags, &f.format, "output", "o", "the same as --format")
	flags.StringVarP(&f.file, "output-file", "O", "", "`FILE` to write; default and -: stdout")
	a.addDrawFlags(cmd, &f.drawFlags)
	return cmd
}

func (a *app) render(cmd *cobra.Command, f *renderFlags, path string) error {
	name, err := f.formatName()
	if err != nil {
		return err
	}
	form := a.formats()[name]
	if !form.picture {
		for _, flag := range layoutFlags() {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s: %s has no layout; it goes with dot, mermaid, png and svg", flag, name)
			}
		}
	}
	toStdout := f.file == "" || f.file == "-"
	if form.binary && toStdout && a.StdoutTerminal {
		base := f.run
		if path != "" {
			base = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		}
		return usagef("%s is not for a terminal; name a file: -O %s.%s", name, base, name)
	}
	d, err := a.draw(path, &f.drawFlags, form.whole)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := form.write(cmd.Context(), &out, d, f); err != nil {
		return err
	}
	if toStdout {
		_, err = a.Stdout.Write(out.Bytes())
		return err
	}
	if err := os.WriteFile(f.file, out.Bytes(), 0o666); err != nil {
		return usage(err)
	}
	return nil
}

// formatName is the format that is wanted.
func (f *renderFlags) formatName() (string, error) {
	if f.format.value != "" {
		return f.format.value, nil
	}
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(f.file), "."))
	switch ext {
	case "gv":
		return "dot", nil
	case "mmd":
		return "mermaid", nil
	case "htm":
		ext = "html"
	}
	switch {
	case f.file == "" || f.file == "-":
		return "dot", nil
	case slices.Contains(f.format.allowed, ext):
		return ext, nil
	}
	return "", usagef("-O %s: no format ends in %q; say which with --format (allowed: %s)", f.file, filepath.Ext(f.file), strings.Join(f.format.allowed, ", "))
}

func writeDOT(_ context.Context, w io.Writer, d *drawn, f *renderFlags) error {
	return render.WriteDOT(w, d.drawing, render.DOTOptions{RankDir: f.rankdir.value})
}

func writeMermaid(_ context.Context, w io.Writer, d *drawn, f *renderFlags) error {
	return render.WriteMermaid(w, d.drawing, render.MermaidOptions{RankDir: f.rankdir.value})
}

func writeDrawing(_ context.Context, w io.Writer, d *drawn, _ *renderFlags) error {
	return writeJSON(w, d.document(), true)
}

// document is the drawing as JSON, with the run that is painted on it.
func (d *drawn) document() *render.Document {
	doc := d.drawing.Document()
	if d.run != nil {
		result := *d.run.Result
		result.History = nil // as runs show prints it
		doc.Run = &result
	}
	return doc
}

// byGraphviz has Graphviz make a picture.
func byGraphviz(form string) func(context.Context, io.Writer, *drawn, *renderFlags) error {
	return func(ctx context.Context, w io.Writer, d *drawn, f *renderFlags) error {
		program, err := exec.LookPath("dot")
		if err != nil {
			return usagef("%s needs the program dot of Graphviz, which is not installed: "+
				"install the package graphviz, or use --format html, which needs nothing", form)
		}
		var in, said bytes.Buffer
		if err := writeDOT(ctx, &in, d, f); err != nil {
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

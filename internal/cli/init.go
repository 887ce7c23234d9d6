// The init command: a new flow from a template.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/templates"
	"github.com/graphrun/graphrun/spec"
)

func newInitCommand(a *app) *cobra.Command {
	var dir string
	var list bool
	cmd := &cobra.Command{
		Use:   "init [TEMPLATE]",
		Short: "Write a new flow from a template",
		Long: `init writes a flow that runs without changes, to start from: the template basic, or the
one that you name; --list shows all. It never overwrites a file: exit 2.`,
		Example: `  graphrun init
  graphrun init approval --dir deploy
  graphrun init --list`,
		Args:              takes(0, 1, "one template"),
		ValidArgsFunction: byPosition(templateNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.listTemplates(cmd)
			}
			return a.writeTemplate(cmd, argument(args, "basic"), dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", ".", "folder to write to, created if missing")
	flags.BoolVar(&list, "list", false, "list the templates and write nothing")
	return withOutput(cmd)
}

// template is a template with its description.
type template struct {
	Template    string `json:"template"`
	Description string `json:"description"`
}

// allTemplates returns the templates, described by their flows.
func allTemplates() ([]template, error) {
	var out []template
	for _, name := range templates.Names() {
		files, err := templates.Files(name)
		if err != nil {
			return nil, err
		}
		g, _ := spec.Parse(templates.Flow, files[0].Text, spec.Options{})
		out = append(out, template{name, g.Description.Value})
	}
	return out, nil
}

func (a *app) listTemplates(cmd *cobra.Command) error {
	all, err := allTemplates()
	if err != nil {
		return err
	}
	return a.print(cmd, all, func() error {
		var rows [][]string
		for _, t := range all {
			rows = append(rows, []string{t.Template, t.Description})
		}
		return a.printTable("", nil, rows)
	})
}

// written is the JSON of the files that init wrote, the flow first.
type written struct {
	Template string   `json:"template"`
	Files    []string `json:"files"`
}

func (a *app) writeTemplate(cmd *cobra.Command, name, dir string) error {
	files, err := templates.Files(name)
	if err != nil {
		return err
	}
	if files == nil {
		return usagef("no template %q (templates: %s)%s", name, strings.Join(templates.Names(), ", "), suggest.DidYouMean(name, templates.Names()))
	}
	out := written{Template: name}
	for _, file := range files { // all or none
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return usagef("%s is there already: nothing was written; --dir names another folder", path)
		}
		out.Files = append(out.Files, path)
	}
	for i, file := range files {
		if err := os.MkdirAll(filepath.Dir(out.Files[i]), 0o755); err != nil {
			return err
		}
		if err := writeNew(out.Files[i], file.Text); err != nil {
			return err
		}
	}
	return a.print(cmd, out, func() error {
		fmt.Fprintf(a.Stderr, "run it with: graphrun run %s\n", runview.QuoteForShell(out.Files[0]))
		return a.printLines(out.Files)
	})
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// templateNames returns the templates for completion.
func templateNames(*cobra.Command, []string) (out []string) {
	all, _ := allTemplates() // none on an error
	for _, t := range all {
		out = append(out, cobra.CompletionWithDesc(t.Template, t.Description))
	}
	return out
}

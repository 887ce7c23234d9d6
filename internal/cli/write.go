// The init and fmt commands: write a flow.

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/inspect"
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
		Args:              requireArgs(0, 1, "one template"),
		ValidArgsFunction: completeByPosition(listTemplateNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.printTemplates(cmd)
			}
			return a.writeTemplate(cmd, firstArgument(args, "basic"), dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", ".", "folder to write to, created if missing")
	flags.BoolVar(&list, "list", false, "list the templates and write nothing")
	return addOutput(cmd)
}

type template struct {
	Template    string `json:"template"`
	Description string `json:"description"`
}

// listTemplates returns the templates, described by their flows.
func listTemplates() (out []template, err error) {
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

func (a *app) printTemplates(cmd *cobra.Command) error {
	list, err := listTemplates()
	if err != nil {
		return err
	}
	rows := collect(list, func(t template) []string { return []string{t.Template, t.Description} })
	return a.print(cmd, list, formatTable(rows))
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
		if err := writeNewFile(out.Files[i], file.Text); err != nil {
			return err
		}
	}
	a.remark(cmd, "run it with: graphrun run "+runview.QuoteForShell(out.Files[0]))
	return a.print(cmd, out, joinLines(out.Files))
}

// writeNewFile writes a file that must not exist.
func writeNewFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// listTemplateNames returns the templates for completion.
func listTemplateNames(*cobra.Command, []string) []string {
	list, _ := listTemplates() // none on an error
	return collect(list, func(t template) string { return cobra.CompletionWithDesc(t.Template, t.Description) })
}

func newFmtCommand(a *app) *cobra.Command {
	var check, diff bool
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Format graph files and test files",
		Long: `fmt rewrites graph files and test files in one form: keys in the order of docs/reference/keys.md,
two spaces, a blank line between top-level blocks, quotes only where needed. Short maps
and lists stay on one line, comments stay where they are, and the meaning never changes.
fmt searches folders, by default the working directory; - reads a file from stdin and
writes the result to stdout. It leaves JSON and invalid files alone.

Exit codes: 0 done, 1 --check found files to format, 2 a file can't be formatted without loss
and is unchanged, 3 a file is not valid.`,
		Example: `  graphrun fmt
  graphrun fmt --check
  graphrun fmt --diff flow.yaml
  graphrun fmt - < flow.yaml`,
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.format(args, check, diff, outputFormat(cmd) == "json")
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "write nothing: list the files that fmt would change, and exit 1 if there are any")
	flags.BoolVar(&diff, "diff", false, "write nothing: show what would change")
	addOutput(cmd)
	cmd.Flag("output").Usage = "output format: json lists every file and whether fmt would change it"
	return cmd
}

// formattedFile is the JSON of a file that fmt has processed.
type formattedFile struct {
	File    string `json:"file"`
	Valid   bool   `json:"valid"`
	Changed bool   `json:"changed"`
	// Unformatted says that formatting would lose something, so the file is unchanged.
	Unformatted bool `json:"unformatted,omitempty"`
}

func (a *app) format(args []string, check, diff, asJSON bool) error {
	isStdin := slices.Contains(args, "-")
	if isStdin && len(args) > 1 {
		return usagef("fmt - takes no other path")
	}
	sources, err := a.findSources(args, "")
	if err != nil {
		return err
	}
	if !isStdin {
		tests, _, err := a.findFiles(args, flowtest.IsTestFile)
		if err != nil {
			return err
		}
		for _, name := range tests {
			sources = append(sources, source{name: name})
		}
		slices.SortFunc(sources, compareSources)
		sources = slices.CompactFunc(sources, func(a, b source) bool { return a.name == b.name })
	}
	var ends error // the gravest: an invalid file, then one that can't be formatted
	changes, listed := false, []formattedFile{}
	for _, s := range sources {
		changed, err := a.formatSource(s, check, diff, asJSON)
		file := formattedFile{File: s.name, Valid: err == nil, Changed: changed}
		switch {
		case errors.Is(err, spec.ErrUnformattable):
			a.note(fmt.Sprintf("%s is unchanged: %v", s.name, err))
			file.Valid, file.Unformatted = true, true
			ends = cmp.Or(ends, silent(exitUsage))
		case exitCodeOf(err) == exitInvalid:
			ends = err
		case err != nil:
			return err
		}
		listed = append(listed, file)
		changes = changes || changed
	}
	if asJSON && !isStdin {
		if err := writeJSON(a.Stdout, map[string]any{"files": listed}, a.StdoutTerminal); err != nil {
			return err
		}
	}
	if check && changes {
		ends = cmp.Or(ends, silent(exitFailed))
	}
	return ends
}

// formatSource formats a file in place, or stdin to stdout.
func (a *app) formatSource(s source, check, show, quiet bool) (changed bool, err error) {
	src, err := s.read()
	if err != nil {
		return false, err
	}
	out, err := a.formatText(s.name, src)
	changed = !bytes.Equal(out, src)
	switch {
	case err != nil:
		return false, err
	case s.src != nil && !check:
		_, err = a.Stdout.Write(out)
	case s.src != nil, !changed, quiet && (check || show): // nothing to write
	case show:
		_, err = a.Stdout.Write(diff.Diff(s.name, src, s.name, out))
	case check:
		_, err = fmt.Fprintln(a.Stdout, s.name)
	default:
		if err := overwriteFile(s.name, out); err != nil {
			return false, usage(err)
		}
		fmt.Fprintf(a.Stderr, "%s formatted\n", s.name)
	}
	return changed, err
}

// formatText returns the canonical form of a valid text.
func (a *app) formatText(name string, src []byte) ([]byte, error) {
	var keys []spec.Key
	if isTestText(src) {
		keys = flowtest.Keys()
		if _, found := spec.Read(name, src, "a test file is a map", keys); found.HasErrors() {
			return nil, a.reportInvalid(found)
		}
	} else if c := inspect.Check(name, src, false); len(c.Broken) > 0 {
		return nil, a.reportInvalid(c.Broken)
	}
	out, err := spec.Format(name, src, keys)
	var invalid *spec.InvalidError
	if errors.As(err, &invalid) {
		return nil, a.reportInvalid(invalid.Findings)
	}
	return out, err
}

// isTestText reports whether the text is a test file.
func isTestText(src []byte) bool {
	return bytes.HasPrefix(src, []byte("graphrun-test:")) || bytes.Contains(src, []byte("\ngraphrun-test:"))
}

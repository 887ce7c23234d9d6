// The fmt command: files in their canonical form.

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/spec"
)

func newFmtCommand(a *app) *cobra.Command {
	var check, diff bool
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "fmt [PATH...]",
		Short: "Format graph files and test files",
		Long: `fmt rewrites graph files and test files in one form: keys in the order of docs/language.md,
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
		PreRunE: a.loadSettings,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return a.format(args, check, diff, output.value == "json")
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "write nothing: list the files that fmt would change, and exit 1 if there are any")
	flags.BoolVar(&diff, "diff", false, "write nothing: show what would change")
	enumFlag(cmd, flags, &output, "output", "o", "output format: json lists every file and whether fmt would change it")
	return cmd
}

// formattedFile is a file that fmt has looked at.
type formattedFile struct {
	File    string `json:"file"`
	Valid   bool   `json:"valid"`
	Changed bool   `json:"changed"`
	// Unformatted: formatting would lose something, so the file is unchanged.
	Unformatted bool `json:"unformatted,omitempty"`
}

func (a *app) format(args []string, check, diff, asJSON bool) error {
	if slices.Contains(args, "-") && len(args) > 1 {
		return usagef("fmt - takes no other path")
	}
	if len(args) == 1 && args[0] == "-" {
		src, err := bounded.ReadAll(a.Stdin, "stdin", bounded.Text)
		if err != nil {
			return usage(err)
		}
		out, err := a.formatText(stdinName, src)
		if errors.Is(err, spec.ErrUnformattable) {
			return usage(err)
		}
		if err != nil {
			return err
		}
		if check && !bytes.Equal(out, src) {
			return silent(exitFailed)
		}
		_, err = a.Stdout.Write(out)
		return err
	}
	names, err := a.filesToFormat(args)
	if err != nil {
		return err
	}
	var invalid error
	changes, unformatted, listed := false, false, []formattedFile{}
	for _, name := range names {
		changed, err := a.formatFile(name, check, diff, asJSON)
		if errors.Is(err, spec.ErrUnformattable) {
			fmt.Fprintf(a.Stderr, "graphrun: %s is unchanged: %v\n", name, err)
			listed, unformatted = append(listed, formattedFile{File: name, Valid: true, Unformatted: true}), true
			continue
		}
		listed = append(listed, formattedFile{File: name, Valid: err == nil, Changed: changed})
		if exitOf(err) == exitInvalid {
			invalid = err
			continue
		}
		if err != nil {
			return err
		}
		changes = changes || changed
	}
	if asJSON {
		if err := writeJSON(a.Stdout, map[string]any{"files": listed}, a.StdoutTerminal); err != nil {
			return err
		}
	}
	if invalid == nil && unformatted {
		return silent(exitUsage)
	}
	if invalid == nil && check && changes {
		return silent(exitFailed)
	}
	return invalid
}

// filesToFormat are the graph files and test files of some paths.
func (a *app) filesToFormat(args []string) ([]string, error) {
	sources, err := a.findSources(args, "")
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	names, _, err := a.findTestFiles(args)
	if err != nil {
		return nil, usage(err)
	}
	for i := range sources {
		names = append(names, sources[i].name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (a *app) formatFile(name string, check, diff, quiet bool) (changed bool, err error) {
	src, err := bounded.ReadFile(name, bounded.Text)
	if err != nil {
		return false, usage(err)
	}
	out, err := a.formatText(name, src)
	if err != nil || bytes.Equal(out, src) {
		return false, err
	}
	switch {
	case quiet && (check || diff):
	case diff:
		_, err = io.WriteString(a.Stdout, diffText(name, src, out))
	case check:
		_, err = fmt.Fprintln(a.Stdout, name)
	default:
		info, err := os.Stat(name)
		if err != nil {
			return false, usage(err)
		}
		if err := os.WriteFile(name, out, info.Mode().Perm()); err != nil {
			return false, usage(err)
		}
		fmt.Fprintf(a.Stderr, "%s formatted\n", name)
	}
	return true, err
}

// formatText is the form of a text that is valid.
func (a *app) formatText(name string, src []byte) ([]byte, error) {
	var keys []spec.Key
	if isTestText(src) {
		keys = flowtest.Keys()
		if _, found := spec.Read(name, src, "a test file is a map", keys); found.HasErrors() {
			return nil, a.invalidIn(found)
		}
	} else if c := inspect.Check(name, src, false); len(c.Broken) > 0 {
		return nil, a.invalidIn(c.Broken)
	}
	out, err := spec.Format(name, src, keys)
	var invalid *spec.InvalidError
	if errors.As(err, &invalid) {
		return nil, a.invalidIn(invalid.Findings)
	}
	return out, err
}

func (a *app) invalidIn(found spec.Diagnostics) error {
	findings := report.Findings{Files: 1, Diagnostics: found}
	if err := report.Write(a.Stderr, "text", findings, report.Options{Color: a.colorOn(a.StderrTerminal)}); err != nil {
		return err
	}
	return silent(exitInvalid)
}

// isTestText reports whether a text is a test file's.
func isTestText(src []byte) bool {
	return bytes.HasPrefix(src, []byte("graphrun-test:")) || bytes.Contains(src, []byte("\ngraphrun-test:"))
}

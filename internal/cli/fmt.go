// The fmt command: rewrite files in canonical form.

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/spec"
)

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
			return a.format(args, check, diff, formatOf(cmd) == "json")
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "write nothing: list the files that fmt would change, and exit 1 if there are any")
	flags.BoolVar(&diff, "diff", false, "write nothing: show what would change")
	withOutput(cmd)
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
	if slices.Contains(args, "-") && len(args) > 1 {
		return usagef("fmt - takes no other path")
	}
	if len(args) == 1 && args[0] == "-" {
		return a.formatStdin(check)
	}
	sources, err := a.findSources(args, "")
	if err != nil {
		return err
	}
	names, _, err := a.findFiles(args, flowtest.IsTestFile)
	if err != nil {
		return err
	}
	names = append(names, namesOf(sources)...)
	slices.Sort(names)
	var ends error // the gravest: an invalid file, then one that can't be formatted
	changes, listed := false, []formattedFile{}
	for _, name := range slices.Compact(names) {
		changed, err := a.formatFile(name, check, diff, asJSON)
		file := formattedFile{File: name, Valid: err == nil, Changed: changed}
		switch {
		case errors.Is(err, spec.ErrUnformattable):
			a.note(fmt.Sprintf("%s is unchanged: %v", name, err))
			file.Valid, file.Unformatted = true, true
			ends = cmp.Or(ends, silent(exitUsage))
		case exitOf(err) == exitInvalid:
			ends = err
		case err != nil:
			return err
		}
		listed = append(listed, file)
		changes = changes || changed
	}
	if asJSON {
		if err := writeJSON(a.Stdout, map[string]any{"files": listed}, a.StdoutTerminal); err != nil {
			return err
		}
	}
	if ends == nil && check && changes {
		return silent(exitFailed)
	}
	return ends
}

func (a *app) formatStdin(check bool) error {
	src, err := a.readPath("-")
	if err != nil {
		return usage(err)
	}
	out, err := a.formatText(stdinName, src)
	switch {
	case errors.Is(err, spec.ErrUnformattable):
		return usage(err)
	case err != nil:
		return err
	case check && !bytes.Equal(out, src):
		return silent(exitFailed)
	}
	_, err = a.Stdout.Write(out)
	return err
}

func (a *app) formatFile(name string, check, show, quiet bool) (changed bool, err error) {
	src, err := bounded.ReadFile(name, bounded.Text)
	if err != nil {
		return false, usage(err)
	}
	out, err := a.formatText(name, src)
	if err != nil || bytes.Equal(out, src) {
		return false, err
	}
	switch {
	case quiet && (check || show):
	case show:
		_, err = a.Stdout.Write(diff.Diff(name, src, name, out))
	case check:
		_, err = fmt.Fprintln(a.Stdout, name)
	default:
		if err := replaceFile(name, out); err != nil {
			return false, usage(err)
		}
		fmt.Fprintf(a.Stderr, "%s formatted\n", name)
	}
	return true, err
}

// formatText returns the canonical form of a valid text.
func (a *app) formatText(name string, src []byte) ([]byte, error) {
	var keys []spec.Key
	if isTestText(src) {
		keys = flowtest.Keys()
		if _, found := spec.Read(name, src, "a test file is a map", keys); found.HasErrors() {
			return nil, a.invalid(found)
		}
	} else if c := inspect.Check(name, src, false); len(c.Broken) > 0 {
		return nil, a.invalid(c.Broken)
	}
	out, err := spec.Format(name, src, keys)
	var invalid *spec.InvalidError
	if errors.As(err, &invalid) {
		return nil, a.invalid(invalid.Findings)
	}
	return out, err
}

// isTestText reports whether the text is a test file.
func isTestText(src []byte) bool {
	return bytes.HasPrefix(src, []byte("graphrun-test:")) || bytes.Contains(src, []byte("\ngraphrun-test:"))
}

// Flows and input: finding, reading and checking flows, and reading -i and --input-file.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// stdinName names the graph from stdin in messages.
const stdinName = "<stdin>"

// source is a graph to check. src is nil when the file has not been read.
type source struct {
	name string
	src  []byte
}

func compareSources(a, b source) int { return cmp.Compare(a.name, b.name) }

func (s source) readText() ([]byte, error) {
	if s.src != nil {
		return s.src, nil
	}
	src, err := bounded.ReadArgument(s.name, bounded.Text)
	return src, asUsageError(err)
}

// findFiles returns the files that paths name, and the wanted files in folders, sorted, each
// once. left holds the files that settings or .gitignore exclude.
func (a *app) findFiles(args []string, wanted func(name string) bool) (names, left []string, err error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	seen := map[string]bool{}
	for _, arg := range args {
		found, out, err := a.rules.Exclude.Find(arg, wanted)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, usagef("no such file or folder: %s", arg)
		} else if err != nil {
			return nil, nil, asUsageError(err)
		}
		for _, name := range found {
			if key := filepath.Clean(name); !seen[key] {
				seen[key] = true
				names = append(names, name)
			}
		}
		left = append(left, out...)
	}
	slices.Sort(names)
	return names, left, nil
}

// isGraphName reports whether a file may hold a graph, by its name.
func isGraphName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// findSources returns the named graphs, "-" for stdin, and those in folders, sorted, each once.
func (a *app) findSources(args []string, stdin string) ([]source, error) {
	var sources []source
	files := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	if len(files) < len(args) {
		src, err := a.readPath("-")
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{cmp.Or(stdin, stdinName), src})
		if len(files) == 0 {
			return sources, nil
		}
	}
	names, left, err := a.findFiles(files, isGraphName)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		isNamed := slices.ContainsFunc(files, func(arg string) bool { return filepath.Clean(arg) == filepath.Clean(name) })
		if isNamed || isGraph(name) {
			sources = append(sources, source{name: name})
		}
	}
	if len(sources) == 0 && len(left) > 0 {
		a.printNote(".gitignore or exclude leaves out all that could be a graph: " + formatNames(left) + "; name a file to have it all the same")
	}
	slices.SortFunc(sources, compareSources)
	return sources, nil
}

// isGraph reports whether a file in a folder is a graph. It follows links to files.
func isGraph(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	src, err := bounded.ReadFile(name, bounded.Text)
	return err != nil || spec.IsGraph(src) // the check reports files that can't be read
}

// loadFlow reads and checks a graph file, or stdin for "-". If the graph is not valid, it
// prints the findings and returns an error. roles are the roles that get models from flags.
func (a *app) loadFlow(path string, roles ...string) (*spec.Graph, error) {
	src, err := a.readPath(path)
	if err != nil {
		return nil, asUsageError(err)
	}
	if path == "-" {
		path = stdinName
	}
	g, found := a.checkFlow(path, src, roles...)
	if found.HasErrors() {
		return nil, a.reportInvalid(found)
	}
	return g, nil
}

// checkFlow checks a graph as validate does. roles are the roles that get models from flags.
func (a *app) checkFlow(path string, src []byte, roles ...string) (*spec.Graph, spec.Diagnostics) {
	c := inspect.Check(path, src, a.rules.EnablesOptional(nil))
	found := a.rules.SelectShown(slices.DeleteFunc(c.Found, func(d spec.Diagnostic) bool {
		// Other models have other prices; the budget checks each call.
		return d.Rule == "missing-model" && slices.Contains(roles, "default") || d.Rule == "unknown-price" && len(roles) > 0
	}))
	if !found.HasErrors() {
		found = append(found, c.Broken...)
	}
	return c.Graph, found
}

// reportInvalid prints findings on stderr and returns the error for the exit code.
func (a *app) reportInvalid(found spec.Diagnostics) error {
	findings := report.Findings{Files: 1, Diagnostics: found}
	if err := report.Write(a.Stderr, "text", findings, report.Options{Color: a.usesColor(a.StderrTerminal)}); err != nil {
		return err
	}
	return exitWith(exitInvalid)
}

// formatNames returns the first few names and the number of the others.
func formatNames(names []string) string {
	const most = 3
	shown := names[:min(most, len(names))]
	text := terminal.Line(strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// readInput builds the input from a file and pairs. Pairs override the file. A partial input may
// lack required keys.
func (a *app) readInput(g *spec.Graph, file string, pairs []string, partial bool) (map[string]any, error) {
	in := input.NewReader(g)
	if file != "" {
		src, err := a.readPath(file)
		if err != nil {
			return nil, usagef("--input-file: %w", err)
		}
		in.ReadFile(file, src)
	}
	for _, pair := range pairs {
		in.ReadPair(pair)
	}
	values, problems := in.Values(partial)
	if len(problems) > 0 {
		return nil, &runner.InputError{Problems: problems}
	}
	return values, nil
}

// readPath reads a file, or stdin for "-".
func (a *app) readPath(path string) ([]byte, error) {
	if path == "-" {
		return bounded.ReadAll(a.Stdin, "stdin", bounded.Text)
	}
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		err = fmt.Errorf("%w%s", err, suggestFile(path))
	}
	return src, err
}

// suggestFile suggests a flow near a path that can't be read: "; did you mean …", or "".
func suggestFile(path string) string {
	folder, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return ""
	} else if err == nil {
		folder, base = path, "flow.yaml"
	}
	var flows []string
	entries, _ := os.ReadDir(folder) // none on an error
	for _, e := range entries {
		if !e.IsDir() && isGraphName(e.Name()) && !flowtest.IsTestFile(e.Name()) {
			flows = append(flows, e.Name())
		}
	}
	if near := suggest.Closest(base, flows); near != "" {
		base = near
	} else if !slices.Contains(flows, base) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", filepath.Join(folder, base))
}

func trimExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// readTextOrFile returns the text of a flag, or of a file for @path.
func readTextOrFile(s string) (string, error) {
	path, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return s, nil
	}
	src, err := bounded.ReadStream(path, bounded.Text)
	return strings.TrimRight(string(src), "\r\n"), err
}

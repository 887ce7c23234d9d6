// The flows of a command: found in folders, read, checked.

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
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

// stdinName is what messages call the graph read from stdin.
const stdinName = "<stdin>"

// source is a graph to check. src is nil when the file has not been read.
type source struct {
	name string
	src  []byte
}

// read reads the source, if that has not been done.
func (s source) read() ([]byte, error) {
	if s.src != nil {
		return s.src, nil
	}
	src, err := bounded.ReadArgument(s.name, bounded.Text)
	if err != nil {
		return nil, usage(err)
	}
	return src, nil
}

// check returns the findings of a source.
func (s source) check(optional bool) (spec.Diagnostics, error) {
	src, err := s.read()
	if err != nil {
		return nil, err
	}
	return inspect.Check(s.name, src, optional).Found, nil
}

// finder collects files, each once however often it is named.
type finder struct {
	sources []source
	exclude settings.Excludes
	kept    int      // bytes of their texts
	left    []string // files and folders that .gitignore or exclude leaves out
	seen    map[string]bool
}

// findFiles lists the files of some paths that a search takes, sorted by name, each once;
// "-" is stdin, called so.
func (a *app) findFiles(args []string, stdin string, wanted func(name string) bool, accept func(*finder, string, fs.DirEntry) error) (*finder, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	f := &finder{exclude: a.rules.Exclude, seen: map[string]bool{}}
	for _, arg := range args {
		if arg == "-" && stdin != "" {
			src, err := a.readPath(arg)
			if err != nil {
				return nil, err
			}
			f.add(source{name: stdin, src: src})
			continue
		}
		if err := f.search(arg, wanted, accept); errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("no such file or folder: %s", arg)
		} else if err != nil {
			return nil, usage(err)
		}
	}
	slices.SortFunc(f.sources, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return f, nil
}

// add takes a source unless it is there already.
func (f *finder) add(s source) {
	if key := filepath.Clean(s.name); !f.seen[key] {
		f.seen[key] = true
		f.sources = append(f.sources, s)
	}
}

// search takes a file as it is. It offers those of a folder with a wanted name to accept,
// but for those that settings or git leave out.
func (f *finder) search(path string, wanted func(name string) bool, accept func(*finder, string, fs.DirEntry) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f.add(source{name: path})
		return nil
	}
	root := path
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator) // a link that is named is followed
	}
	ignored := settings.IgnoredBelow(root)
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && entry.IsDir() && skipFolder(entry.Name()):
			return fs.SkipDir
		case !entry.IsDir() && !wanted(name):
			return nil
		case name != root && (f.exclude.Leaves(name) || ignored.Leaves(name, entry.IsDir())):
			f.left = append(f.left, name)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			ignored.Enter(name)
			return nil
		}
		return accept(f, name, entry)
	})
}

// isGraphName reports whether a file may be a graph by its name.
func isGraphName(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// addGraph takes a file found in a folder if it is a graph.
func (f *finder) addGraph(name string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		// A link to a file counts as the file; one to a folder, a broken one
		// and a device do not.
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	src, err := bounded.ReadFile(name, bounded.Text)
	if err != nil {
		return err
	}
	if !spec.IsGraph(src) {
		return nil
	}
	if f.kept += len(src); f.kept > maxKept {
		src = nil // read again when it is checked: a large folder is not to fill the memory
	}
	f.add(source{name: name, src: src})
	return nil
}

// maxKept is how many bytes of found files are kept until they are checked.
const maxKept = 128 << 10

func skipFolder(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

// findTestFiles lists the test files of some paths, each once, sorted; left are those that
// a search has left out.
func (a *app) findTestFiles(args []string) (names, left []string, err error) {
	f, err := a.findFiles(args, "", flowtest.IsTestFile, func(f *finder, name string, _ fs.DirEntry) error {
		f.add(source{name: name})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return namesOf(f.sources), f.left, nil
}

func namesOf(sources []source) []string {
	var names []string
	for i := range sources {
		names = append(names, sources[i].name)
	}
	return names
}

// findSources lists the graphs to check, sorted by name, each once.
func (a *app) findSources(args []string, stdin string) ([]source, error) {
	f, err := a.findFiles(args, cmp.Or(stdin, stdinName), isGraphName, (*finder).addGraph)
	if err != nil {
		return nil, err
	}
	if len(f.sources) == 0 && len(f.left) > 0 {
		a.note(".gitignore or exclude leaves out all that could be a graph: " + firstNames(f.left) + "; name a file to have it all the same")
	}
	return f.sources, nil
}

// loadFlow reads and checks the graph file of a command; "-" is stdin. When it
// is not valid it prints the findings on stderr and returns the error that ends
// the program. Roles are those for which the caller names models.
func (a *app) loadFlow(path string, roles ...string) (*spec.Graph, error) {
	src, err := a.readPath(path)
	if err != nil {
		return nil, usage(err)
	}
	name := path
	if path == "-" {
		name = stdinName
	}
	c := inspect.Check(name, src, a.rules.Optional(nil))
	if slices.Contains(roles, "default") && c.Graph != nil && !hasDefault(c.Graph) {
		c.Found = slices.DeleteFunc(c.Found, func(d spec.Diagnostic) bool { return d.Rule == "missing-model" })
	}
	if len(roles) > 0 { // the caller's models cost something else; the budget asks for each call
		c.Found = slices.DeleteFunc(c.Found, func(d spec.Diagnostic) bool { return d.Rule == "unknown-price" })
	}
	c.Found = a.rules.Shown(c.Found) // what is valid for validate is valid to run
	switch {
	case c.Found.HasErrors():
		return nil, a.invalid(c.Found)
	case len(c.Broken) > 0:
		return nil, a.invalid(c.Broken)
	}
	return c.Graph, nil
}

func hasDefault(g *spec.Graph) bool {
	return slices.ContainsFunc(g.Models, func(f spec.Field) bool { return f.Key.Value == "default" })
}

// invalid prints findings on stderr and returns the error that ends the program.
func (a *app) invalid(found spec.Diagnostics) error {
	findings := report.Findings{Files: 1, Diagnostics: found}
	if err := report.Write(a.Stderr, "text", findings, report.Options{Color: a.colorOn(a.StderrTerminal)}); err != nil {
		return err
	}
	return silent(exitInvalid)
}

// firstNames are the first of some names, and how many more there are.
func firstNames(names []string) string {
	const most = 3
	shown := names[:min(most, len(names))]
	text := terminal.Line(strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

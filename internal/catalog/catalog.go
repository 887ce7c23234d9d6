// Package catalog finds the flows below a folder and names them by relative paths. No path leads
// out of the folder, neither by .. nor by a link.
package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// ErrNoFlow says that a path is not a flow.
var ErrNoFlow = errors.New("no such flow")

// Rules apply the user's settings to findings.
type Rules struct {
	// Optional adds the rules that are off by default.
	Optional bool
	// Apply sets the severities of findings. If it is nil, they keep their own.
	Apply func(spec.Diagnostics) spec.Diagnostics
}

// Catalog is a folder of flows. It is safe for concurrent use.
type Catalog struct {
	dir   string // absolute, links resolved
	root  *os.Root
	rules Rules

	mu    sync.Mutex
	flows map[string]*Flow // by path; kept until a file changes, since checking a large flow takes a fifth of a second
}

// Open opens a folder. It returns errors of the file system.
func Open(dir string, rules Rules) (*Catalog, error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no such folder: %s", dir)
	} else if err != nil {
		return nil, err
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; a folder of flows is wanted, such as %s", dir, filepath.Dir(dir))
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return nil, err
	}
	if rules.Apply == nil {
		rules.Apply = func(found spec.Diagnostics) spec.Diagnostics { return found }
	}
	return &Catalog{dir: full, root: root, rules: rules, flows: map[string]*Flow{}}, nil
}

// Close closes the folder.
func (c *Catalog) Close() error { return c.root.Close() }

// Dir returns the absolute path of the folder.
func (c *Catalog) Dir() string { return c.dir }

// Flow is a checked flow.
type Flow struct {
	// Path is the path relative to the folder, with slashes.
	Path  string
	Graph *spec.Graph
	// Found are the findings after Rules.
	Found spec.Diagnostics
	// Broken are errors that make the graph incomplete.
	Broken spec.Diagnostics

	load func(path string) ([]byte, error)
	mu   sync.Mutex
	read map[string][]byte // texts of the files that were read, by path, nil for a missing file
}

// Read reads a file by its path relative to the flow. A later change of the file invalidates the flow.
func (f *Flow) Read(path string) ([]byte, error) {
	src, err := f.load(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, again := f.read[path]; !again {
		f.read[path] = src
	}
	return src, err
}

// isCurrent reports whether all files are as they were read first.
func (f *Flow) isCurrent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, before := range f.read {
		if src, _ := f.load(path); !bytes.Equal(src, before) || (src == nil) != (before == nil) { //lint:ignore mapiter all must be the same
			return false
		}
	}
	return true
}

// IsValid reports whether the flow can be run.
func (f *Flow) IsValid() bool { return !f.Found.HasErrors() && len(f.Broken) == 0 }

// maxFlows bounds the number of listed flows.
const maxFlows = 2000

// Paths returns the paths of graph files, sorted. It skips unreadable files, hidden folders,
// node_modules, and links that lead out of the folder.
func (c *Catalog) Paths() ([]string, error) {
	var out []string
	err := fs.WalkDir(c.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil
		case entry.IsDir():
			if base := entry.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		case len(out) >= maxFlows:
			return fs.SkipAll
		}
		if src, err := c.readGraphFile(name); err == nil && spec.IsGraph(src) {
			out = append(out, name)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// readGraphFile reads a file that may hold a graph.
func (c *Catalog) readGraphFile(name string) ([]byte, error) {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
		return nil, fs.ErrNotExist
	}
	info, err := c.root.Stat(filepath.FromSlash(name))
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	file, err := c.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return bounded.ReadAll(file, name, bounded.Text)
}

// Load reads and checks a flow. Callers share the result and must not change it. It returns ErrNoFlow
// for a path outside Paths.
func (c *Catalog) Load(name string) (*Flow, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("%w: %q is not a path from the folder that is served", ErrNoFlow, name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	src, err := c.readGraphFile(name)
	if err != nil || !spec.IsGraph(src) {
		delete(c.flows, name)
		known, err := c.Paths()
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %q%s", ErrNoFlow, name, suggest.DidYouMean(name, known))
	}
	if flow := c.flows[name]; flow != nil && bytes.Equal(flow.Graph.File.Src, src) && flow.isCurrent() {
		return flow, nil
	}
	flow := &Flow{Path: name, load: spec.NewLoader(c.File(name)), read: map[string][]byte{}}
	checked := inspect.CheckWith(c.File(name), src, c.rules.Optional, flow.Read)
	flow.Graph, flow.Found, flow.Broken = checked.Graph, c.rules.Apply(checked.Found), checked.Broken
	c.flows[name] = flow
	return flow, nil
}

// Prepare loads a flow and prepares it to run. It returns ErrNoFlow, or a *runner.InvalidError for a flow
// with errors.
func (c *Catalog) Prepare(name string, r *runner.Runner) (*runner.Flow, error) {
	flow, err := c.Load(name)
	switch {
	case err != nil:
		return nil, err
	case flow.Found.HasErrors():
		return nil, &runner.InvalidError{Diagnostics: flow.Found.Errors()}
	case len(flow.Broken) > 0:
		return nil, &runner.InvalidError{Diagnostics: flow.Broken}
	}
	// A plan needs its own graph.
	g, found := spec.Parse(c.File(name), flow.Graph.File.Src, spec.Options{Load: flow.Read})
	if found.HasErrors() { // a file has changed since Load
		return nil, &runner.InvalidError{Diagnostics: found.Errors()}
	}
	return r.Prepare(g)
}

// CheckInput returns an error if a flow can't run with an input. If the input is not known yet, it
// checks the flow only.
func (c *Catalog) CheckInput(name string, given map[string]any, known bool) error {
	flow, err := c.Load(name)
	switch {
	case err != nil:
		return err
	case !flow.IsValid():
		return fmt.Errorf("flow %q is not valid", name)
	case !known:
		return nil
	}
	if _, wrong := input.Check(flow.Graph, given, map[string]any{}); len(wrong) > 0 {
		return &runner.InputError{Problems: wrong}
	}
	return nil
}

// File returns the absolute path of a flow's file.
func (c *Catalog) File(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// PathOf returns the relative path of a file, or "" outside the folder.
func (c *Catalog) PathOf(file string) string {
	name, err := filepath.Rel(c.dir, file)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

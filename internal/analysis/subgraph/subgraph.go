// Package subgraph reads the graphs that nodes and tools of a graph name.
package subgraph

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Graph is a named graph. If it is not valid, Graph is nil. Problem says why, unless another check does.
type Graph struct {
	Path    string // of the file, followed by "#name"
	File    string
	Graph   *spec.Graph
	Bound   *bind.Graph
	Problem string
	// Place is where the file is not valid.
	Place *spec.Related
}

// Loader reads the graphs that one graph names, each once. It is for one goroutine at a time.
type Loader struct {
	root  *spec.Graph
	kinds []spec.Kind
	// load is lint.Options.Load. If it is nil, files are not read.
	load func(path string) ([]byte, error)
	// filter drops the findings that a file silences.
	filter func(*spec.File, spec.Diagnostics) spec.Diagnostics
	loaded map[string]*Graph
}

// New returns a loader of the graphs that root names.
func New(root *spec.Graph, kinds []spec.Kind, load func(string) ([]byte, error), filter func(*spec.File, spec.Diagnostics) spec.Diagnostics) *Loader {
	return &Loader{root: root, kinds: kinds, load: load, filter: filter, loaded: map[string]*Graph{}}
}

// References lists the names of other graphs in a graph.
func References(g *spec.Graph) []spec.Text {
	var out []spec.Text
	for _, n := range g.Nodes {
		if name := n.Field("graph").Scalar(); n.Kind.Value == "graph" && name.IsSet() {
			out = append(out, name)
		}
	}
	for i := range g.Tools {
		if v := g.Tools[i].Value.Get("graph"); v != nil && v.Kind == spec.String {
			out = append(out, v.Text)
		}
	}
	return out
}

// Load returns the graph that a graph of a file names, or nil if the file is unknown.
func (l *Loader) Load(g *spec.Graph, file, name string) *Graph {
	at, isInner := name, strings.HasPrefix(name, "#")
	switch {
	case isInner:
		at = file + name
	case l.load == nil || name == "" || strings.Contains(name, "{{"):
		return nil
	case !path.IsAbs(at):
		at = path.Join(path.Dir(file), at)
	}
	c := l.loaded[at]
	switch {
	case c != nil:
	case !isInner:
		c = &Graph{Path: at, File: at}
		l.loaded[at] = c
		l.readFile(c)
	case g.InnerGraph(name) != nil: // else spec.Check says so
		c = &Graph{Path: at, File: file}
		l.loaded[at] = c
		l.bindInner(c, g.InnerGraph(name))
	}
	return c
}

// bindInner sets the graph to one within the file of another. Checking the file reports its problems.
func (l *Loader) bindInner(c *Graph, inner *spec.Graph) {
	if inner.IsComplete() && !inner.HasFaultIn(inner.Span) {
		if bound, found := bind.Bind(inner, l.kinds, nil); !found.HasErrors() {
			c.Graph, c.Bound = inner, bound
		}
	}
}

// readFile sets the graph to that of its file, or says why it can't be used.
func (l *Loader) readFile(c *Graph) {
	src, err := l.load(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Problem = "does not exist"
	case err != nil:
		c.Problem = "can't be read: " + err.Error()
	case !spec.IsGraph(src):
		c.Problem = "is not a graph file"
	default:
		g, found := spec.Parse(l.nameOf(c.Path), src, spec.Options{Kinds: l.kinds, Load: Beside(l.load, c.Path)})
		if found = append(found, spec.Check(g)...); !found.HasErrors() {
			c.Bound, found = bind.Bind(g, l.kinds, nil)
			found = l.filter(g.File, found)
		}
		if !found.HasErrors() {
			c.Graph = g
			return
		}
		found = found.Sort()
		d := found[slices.IndexFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Error })]
		c.Problem = "is not valid: " + LineOf(d) + ": " + d.Message
		c.Place = &spec.Related{File: d.File, Span: d.Span, Message: "the error is here"}
	}
}

// Beside returns a load function for names relative to the folder of a file.
func Beside(load func(string) ([]byte, error), at string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !path.IsAbs(name) {
			name = path.Join(path.Dir(at), name)
		}
		return load(name)
	}
}

// nameOf returns the name that messages use for a file in the folder of the graph.
func (l *Loader) nameOf(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(filepath.ToSlash(l.root.File.Name)), name)
}

// Output returns the type of the declared output.
func (c *Graph) Output() eval.Type {
	if c.Bound == nil || c.Bound.Output == nil {
		return eval.Any()
	}
	return c.Bound.Output.Type()
}

// LineOf returns the line of a finding, with the name of its text if another file contains it.
func LineOf(d spec.Diagnostic) string {
	line := "line " + strconv.Itoa(d.File.Position(d.Span.From).Line)
	if host, _ := d.File.Host(); host != nil {
		line += " of " + d.File.Name
	}
	return line
}

// Subgraphs: the files that nodes and tools of kind graph name, read once each.

package lint

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// child is another graph, of a file or within one. One that can't be used has a
// problem, unless it is reported elsewhere, and no graph.
type child struct {
	path    string // of the file, and "#name" behind it
	file    string
	graph   *spec.Graph
	output  eval.Type // of its runs
	problem string
	// place is where the file is not valid.
	place *spec.Related
}

// reference is a place that names another graph file.
type reference struct {
	text spec.Text
	node *spec.Node // nil for a tool
}

// references lists the files and graphs that a graph names.
func references(g *spec.Graph) []reference {
	var out []reference
	for _, n := range g.Nodes {
		if t := text(n, "graph"); n.Kind.Value == "graph" && t.IsSet() {
			out = append(out, reference{t, n})
		}
	}
	for i := range g.Tools {
		if v := g.Tools[i].Value.Get("graph"); v != nil && v.Kind == spec.String {
			out = append(out, reference{v.Text, nil})
		}
	}
	return out
}

// inner is a graph within the file of another one, at the path of that file. What
// is wrong with it is reported where it stands.
func (f *facts) inner(g *spec.Graph, file, ref string) *child {
	at := file + ref
	if c := f.children[at]; c != nil {
		return c
	}
	inner := g.Inner(ref)
	if inner == nil {
		return nil // spec.Check says so
	}
	c := &child{path: at, file: file}
	if f.children == nil {
		f.children = map[string]*child{}
	}
	f.children[at] = c
	if inner.Complete() && !inner.Faulty(inner.Span()) {
		if bound, found := bind.Check(inner, f.opts.Kinds, nil); !found.HasErrors() {
			c.graph, c.output = inner, outputType(bound)
		}
	}
	return c
}

// child is what a graph of a file names: another graph of the file, or that of a
// file, which is read. It is nil when files are not to be looked at or the name is
// known at run time only.
func (f *facts) child(g *spec.Graph, file, name string) *child {
	if strings.HasPrefix(name, "#") {
		return f.inner(g, file, name)
	}
	if f.opts.Load == nil || name == "" || strings.Contains(name, "{{") {
		return nil
	}
	at := name
	if !path.IsAbs(at) {
		at = path.Join(path.Dir(file), at)
	}
	if c := f.children[at]; c != nil {
		return c
	}
	c := &child{path: at, file: at}
	if f.children == nil {
		f.children = map[string]*child{}
	}
	f.children[at] = c
	src, err := f.opts.Load(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.problem = "does not exist"
	case err != nil:
		c.problem = "can't be read: " + err.Error()
	case !spec.IsGraph(src):
		c.problem = "is no graph file"
	default:
		g, found := spec.Parse(f.beside(at), src, spec.Options{Kinds: f.opts.Kinds, Load: f.opts.loadBeside(at)})
		if found = append(found, spec.Check(g)...); !found.HasErrors() {
			var bound *bind.Graph
			bound, found = bind.Check(g, f.opts.Kinds, nil)
			c.output = outputType(bound)
			found = Filter(g.File, found)
		}
		if found.HasErrors() {
			d := *FirstError(found.Sort())
			c.problem = "is not valid: " + lineOf(d) + ": " + d.Message
			c.place = &spec.Related{File: d.File, Span: d.Span, Message: "the error is here"}
			return c
		}
		c.graph = g
	}
	return c
}

// loadBeside is Load for the texts that a file at a path names.
func (o *Options) loadBeside(at string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !path.IsAbs(name) {
			name = path.Join(path.Dir(at), name)
		}
		return o.Load(name)
	}
}

// beside is what messages call a file that is named relative to the folder of
// the graph.
func (f *facts) beside(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(filepath.ToSlash(f.graph.File.Name)), name)
}

// childOf is the valid subgraph of a node; nil when there is none.
func (f *facts) childOf(n *spec.Node) *spec.Graph {
	if n.Kind.Value != "graph" {
		return nil
	}
	if c := f.child(f.graph, "", text(n, "graph").Value); c != nil {
		return c.graph
	}
	return nil
}

// outputType is the type of what a graph declares as its output; any part may be null.
func outputType(g *bind.Graph) eval.Type {
	if g == nil || g.Output == nil {
		return eval.Any()
	}
	return valueType(g.Output)
}

func valueType(v *bind.Value) eval.Type {
	switch {
	case v.Program() != nil:
		return v.Program().Type()
	case v.Template() != nil:
		return v.Template().Type()
	case len(v.Fields()) > 0:
		fields := map[string]eval.Type{}
		for _, field := range v.Fields() {
			fields[field.Name] = valueType(&field.Value)
		}
		return eval.Object(fields, false)
	}
	return eval.Any()
}

// Graph files: their checks, and the graphs that their nodes run.

package inspect

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Checked is a graph file after all checks.
type Checked struct {
	// Graph is never nil, but lacks parts when the file has errors.
	Graph *spec.Graph
	// Found holds the sorted findings that no comment silences.
	Found spec.Diagnostics
	// Broken holds syntax errors and unknown names, silenced or not. A graph with such errors is
	// incomplete and must not be run.
	Broken spec.Diagnostics
}

// Check parses and checks a graph. With optional, it uses rules that are off by default.
func Check(name string, src []byte, optional bool) Checked {
	return CheckWith(name, src, optional, spec.Beside(name))
}

// CheckWith checks a graph like Check and reads other files by load.
func CheckWith(name string, src []byte, optional bool, load func(path string) ([]byte, error)) Checked {
	g, found := spec.Parse(name, src, spec.Options{Load: load})
	structure := spec.Check(g)
	// Unknown names count as broken, too.
	names := slices.DeleteFunc(slices.Clone(structure), func(d spec.Diagnostic) bool { return d.Rule != "unknown-node" && d.Rule != "missing-start" })
	c := Checked{Graph: g, Broken: append(found.Errors(), names...).Sort()}
	found = append(found, structure...)
	found = append(found, lint.Check(g, lint.Options{Load: load, Price: BoundCost, Broken: lint.FirstError(found), Optional: optional})...)
	c.Found = lint.Filter(g.File, found)
	return c
}

// Opener finds the graphs that nodes run, each file once.
type Opener struct {
	// Load reads the file of a path.
	Load   func(path string) ([]byte, error)
	graphs map[string]*spec.Graph // graphs by file path
}

// NewOpener returns an Opener for the subgraphs of main.
func NewOpener(main *spec.Graph, load func(path string) ([]byte, error)) *Opener {
	return &Opener{load, map[string]*spec.Graph{AbsolutePath(main.File.Name): main}}
}

// Open returns the graph that a node runs, or nil.
func (o *Opener) Open(g *spec.Graph, n *spec.Node) *spec.Graph {
	ref := n.Field("graph").Scalar().Value
	switch {
	case ref == "":
		return nil
	case strings.HasPrefix(ref, "#"):
		return g.Inner(ref)
	}
	path := spec.ResolvePath(AbsolutePath(g.File.Name), ref)
	if known, ok := o.graphs[path]; ok {
		return known
	}
	o.graphs[path] = nil
	if src, err := o.Load(path); err == nil {
		o.graphs[path], _ = spec.Parse(path, src, spec.Options{Load: subgraph.Beside(o.Load, path)})
	}
	return o.graphs[path]
}

// Walk calls visit for the nodes of a graph and of its subgraphs, except those that contain
// themselves. path holds the graph nodes around a node and the node. The walk enters the
// subgraph of a node if visit returns true.
func (o *Opener) Walk(g *spec.Graph, visit func(g *spec.Graph, path []*spec.Node) (enter bool)) {
	var walk func(g *spec.Graph, around []*spec.Graph, path []*spec.Node)
	walk = func(g *spec.Graph, around []*spec.Graph, path []*spec.Node) {
		around = append(slices.Clip(around), g)
		for _, n := range g.Nodes {
			path := append(slices.Clip(path), n)
			if !visit(g, path) || n.Kind.Value != "graph" {
				continue
			}
			if inner := o.Open(g, n); inner != nil && !slices.Contains(around, inner) {
				walk(inner, around, path)
			}
		}
	}
	walk(g, nil, nil)
}

// AbsolutePath returns the absolute form of a path.
func AbsolutePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
}

// Package spec is the language of graph files: it reads them, says what is wrong with
// them, and knows every key. Parse makes a Graph of a text, in which each value knows its
// place; Check has the rules over a whole graph that need no expressions.
//
// The files follow the way of a text through the package:
//
//	source     positions: offsets inside, line and column when printed
//	load       YAML or JSON into values, and what may go wrong there
//	table      the table of keys: the language, its reference page, its JSON Schema
//	shape      values against the table
//	elsewhere  what people who know other tools write
//	build      values into a Graph
//	graph      the Graph, and graphs within it
//	check      the rules over a whole graph
//	format     the canonical form of a file
package spec

import (
	"fmt"
	"slices"
)

// Options are what a program adds to the language. The zero value adds nothing.
type Options struct {
	// Kinds are node kinds besides the built-in ones. One with the name of a
	// built-in kind is ignored.
	Kinds []Kind
	// Load returns the text of a file that the graph names as `{file: path}`, by its
	// path as it stands there: relative to the folder of the graph's file, with
	// slashes. An error that is fs.ErrNotExist says that there is none. Without Load
	// such a text is an error of the graph. Beside makes one that reads files.
	Load func(path string) ([]byte, error)
}

// Parse reads a graph file, YAML or JSON, and reports everything that is wrong
// with its text and the shape of its parts; Check has the rules over the whole
// graph. The Graph is never nil; one that came with errors may lack parts. The
// graph keeps src, which must not change afterwards. Nothing is run, and nothing
// opened but what opts.Load does.
func Parse(name string, src []byte, opts Options) (*Graph, Diagnostics) {
	file := NewFile(name, src)
	root, diags := load(file, graphFile)
	if root == nil {
		return &Graph{File: file, gaps: gapAll}, diags.Sort()
	}
	shapes := newShaper(file, opts)
	if root.Get("graphrun") == nil && root.Get("nodes") == nil {
		shapes.missing(root, Text{}, "the keys \"graphrun\" and \"nodes\": it is no graph file")
		return &Graph{File: file, gaps: gapAll}, append(diags, shapes.diags...).Sort()
	}
	shapes.graph(shapes.tables.top, root, Text{})
	b := &builder{shaper: shapes, graph: newGraph(file)}
	b.build(root)
	diags = append(diags, shapes.diags...)
	if len(diags) > 0 && hasRule(diags, "duplicate-key") {
		b.graph.gaps |= gapEdges
		for _, inner := range b.graph.Graphs {
			inner.gaps |= gapEdges
		}
	}
	for i := range diags {
		b.graph.faults = append(b.graph.faults, file.home(diags[i].Span))
	}
	diags = diags.Sort()
	for _, inner := range b.graph.Graphs {
		inner.faults = b.graph.faults
	}
	return b.graph, diags
}

func hasRule(ds Diagnostics, rule string) bool {
	for i := range ds {
		if ds[i].Rule == rule {
			return true
		}
	}
	return false
}

// gaps say what of a graph could not be read, so that Check reports nothing
// that is only a consequence.
type gaps int

const (
	gapNodes gaps = 1 << iota // a node, its ends or the whole map
	gapEdges                  // an edge, or the whole list
	gapStart
	gapState
	gapAll = gapNodes | gapEdges | gapStart | gapState
)

// graph checks a whole file, or a graph within one, against its keys. A missing
// start has a rule of its own.
func (s *shaper) graph(keys []Key, root *Value, owner Text) {
	found := false
	if owner.IsSet() {
		root.Fields = slices.DeleteFunc(root.Fields, s.atTop)
	}
	root.Fields = slices.DeleteFunc(root.Fields, func(f Field) bool {
		empty := f.Key.Value == "start" && f.Value.Kind == Null
		if empty {
			found = true
			s.report("missing-start", f.Key.Span, "\"start\" has no value; name the first node")
		}
		return empty
	})
	s.known(keys, root)
	for i := range keys {
		k := &keys[i]
		switch {
		case !k.Required || root.Get(k.Name) != nil:
		case k.Name == "start" && found:
		case k.Name == "start":
			s.missingStart(root)
		default:
			s.missing(root, owner, fmt.Sprintf("the key %q", k.Name))
		}
	}
}

func (s *shaper) missingStart(root *Value) {
	span := firstToken(root)
	for i := range root.Fields {
		if key := &root.Fields[i].Key; key.Value == "nodes" {
			span = key.Span
		}
	}
	s.report("missing-start", span, "the graph has no \"start\"; name its first node")
}

// Package spec reads and checks graph files. Parse turns a text into a Graph in which each
// value knows its position. Check applies the rules for whole graphs that do not depend on expressions.
//
// The files in the order in which they handle a text:
//
//	source     positions: offsets inside, line and column when printed
//	load       YAML or JSON into values, and syntax errors
//	table      the table of keys: the language, its reference page, its JSON Schema
//	decode     values into a Graph, checked against the table
//	hints      suggestions for people who know other tools
//	graph      the Graph, and graphs within it
//	check      the rules over a whole graph
//	format     the canonical form of a file
package spec

import (
	"fmt"
	"strings"
)

// Options extend the language. The zero value adds nothing.
type Options struct {
	// Kinds are additional kinds of nodes. Parse ignores a kind with the name of a built-in kind.
	Kinds []Kind
	// Load reads a file that the graph names as `{file: path}`. The path has slashes and is relative to
	// the folder of the graph's file. If Load is nil, such a text is an error. NewLoader returns a Load function.
	Load func(path string) ([]byte, error)
}

// Parse reads a graph file, YAML or JSON, and reports all errors in its text and in the shape of its
// parts. The Graph is never nil, but with errors it may lack parts. src must not change afterwards.
func Parse(name string, src []byte, opts Options) (*Graph, Diagnostics) {
	file := NewFile(name, src)
	root, diags := loadMap(file, graphFile)
	if root == nil {
		return &Graph{File: file, hasGaps: true}, diags.Sort()
	}
	d := newDecoder(file, opts)
	if root.Get("graphrun") == nil && root.Get("nodes") == nil {
		d.reportMissing(root, Text{}, "the keys \"graphrun\" and \"nodes\": it is not a graph file")
		return &Graph{File: file, hasGaps: true}, append(diags, d.diags...).Sort()
	}
	g := newGraph(file)
	d.graph = g
	d.readGraph(TopKeys, root, Text{})
	diags = append(diags, d.diags...)
	lacksEntries := false
	for _, d := range diags {
		lacksEntries = lacksEntries || d.Rule == "duplicate-key"
		g.faults = append(g.faults, file.spanInHost(d.Span))
	}
	for _, each := range append([]*Graph{g}, g.Graphs...) {
		each.lacksEdges = each.lacksEdges || lacksEntries
		each.faults = g.faults
	}
	return g, diags.Sort()
}

// Read reads a YAML or JSON file, a map with the given keys, and reports all errors in its text and
// shape. what describes such a file in findings: "a script is a map with the key responses". The value
// is nil if the text can't be read. With errors, its parts may not fit the keys. src must not change
// afterwards.
func Read(name string, src []byte, what string, keys []Key) (*Value, Diagnostics) {
	file := NewFile(name, src)
	root, diags := loadMap(file, what)
	if root == nil {
		return nil, diags.Sort()
	}
	d := newDecoder(file, Options{})
	d.readObject(keys, nil, root, Text{}, nil)
	return root, append(diags, d.diags...).Sort()
}

// ReadValue reads a YAML or JSON file of any shape. The finding about an empty file ends in what. The value
// is nil if the text can't be read. src must not change afterwards.
func ReadValue(name string, src []byte, what string) (*Value, Diagnostics) {
	root, diags := loadDocument(NewFile(name, src), what)
	return root, diags.Sort()
}

// InvalidError holds all findings about an unusable file, sorted by position.
type InvalidError struct{ Findings Diagnostics }

// Error returns one line for each finding, with file, line, column and message.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, d := range e.Findings {
		at := d.File.Position(d.Span.From)
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", d.File.Name, at.Line, at.Column, d.Message)
		if d.Suggestion != "" {
			lines[i] += fmt.Sprintf("; did you mean %q?", d.Suggestion)
		}
	}
	return strings.Join(lines, "\n")
}

// Code actions: the fixes of `validate --fix`, a stub for a node, a file of tests.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/fix"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/spec"
)

func (s *Server) listActions(d *document, p *params) (any, error) {
	out := []object{}
	if d.checkedVersion != d.version {
		return out, nil
	}
	start, end := d.text.position(d.text.offset(p.Range.Start)), d.text.position(d.text.offset(p.Range.End))
	from, to := d.text.lines[start.Line], d.text.lines[end.Line]+len(d.text.line(end.Line))
	for _, e := range fix.FindEdits(d.checked.Graph, d.checked.Found) {
		if e.Span.To < from || e.Span.From > to {
			continue
		}
		title := "Remove it"
		if e.Text != "" {
			title = "Change to " + strings.TrimSpace(e.Text)
		}
		out = append(out, newQuickFix(title, d, textEdit{d.text.span(e.Span.From, e.Span.To), e.Text}))
	}
	switch {
	case flowtest.IsTestFile(d.path):
		out = append(out, s.listStubs(d, "")...)
	case d.checked.Graph != nil:
		path := makeTestPath(d.path)
		test := s.readDocument(path)
		if u := d.findUse(p.Range.Start); test != nil && u != nil && u.kind == "node" && u.scope == (scope{}) {
			out = append(out, s.listStubs(test, u.name)...)
		}
		if _, err := os.Stat(path); err != nil && test == nil && !d.checked.Found.HasErrors() {
			out = append(out, object{"title": "Generate tests", "kind": "source", "data": d.path})
		}
	}
	return out, nil
}

func newQuickFix(title string, d *document, edit textEdit) object {
	return object{"title": title, "kind": "quickfix", "edit": object{"changes": map[string][]textEdit{d.uri: {edit}}}}
}

func makeTestPath(flow string) string {
	return strings.TrimSuffix(flow, filepath.Ext(flow)) + ".test.yaml"
}

// listStubs returns actions that add stubs to a test file: for each node that has none, or for one
// node only.
func (s *Server) listStubs(test *document, only string) (out []object) {
	doc := readValue(test.path, test.text)
	d := s.readDocument(findFlow(test.path, doc))
	if d == nil {
		return nil
	}
	g := inspect.Check(d.path, []byte(d.text.src), false).Graph
	stubbed := findStubs(doc)
	for _, n := range g.Nodes {
		name := n.ID.Value
		if !flowtest.NeedsStub(n) || slices.Contains(stubbed, name) || only != "" && name != only {
			continue
		}
		if value, err := json.Marshal(flowtest.MakeUpOutput(g, n)); err == nil {
			title := fmt.Sprintf("Add a stub for %s to %s", name, filepath.Base(test.path))
			out = append(out, newQuickFix(title, test, newStubEdit(test, doc, name+": {output: "+string(value)+"}")))
		}
	}
	return out
}

// findStubs returns the nodes that have stubs anywhere in a test file.
func findStubs(v *spec.Value) (out []string) {
	for i := range v.Items {
		out = append(out, findStubs(&v.Items[i])...)
	}
	for _, f := range v.Fields {
		if f.Key.Value == "stubs" {
			for k := range f.Value.Fields {
				out = append(out, f.Value.Fields[k].Key.Value)
			}
		}
		out = append(out, findStubs(&f.Value)...)
	}
	return out
}

// newStubEdit returns an edit that adds an entry to the default stubs of a test file.
func newStubEdit(test *document, doc *spec.Value, entry string) textEdit {
	insert := func(at int, text string) textEdit { return textEdit{test.text.span(at, at), text} }
	defaults := "defaults:\n  stubs:\n    " + entry + "\n"
	in := doc.Get("defaults").Get("stubs")
	if in == nil || len(in.Fields) == 0 {
		in, entry = doc.Get("defaults"), "stubs: {"+entry+"}"
	}
	if in != nil && len(in.Fields) > 0 {
		first := in.Fields[0].Key.Span.From
		if test.text.src[in.Span.From] == '{' {
			return insert(first, entry+", ")
		}
		column := first - test.text.lines[test.text.position(first).Line]
		return insert(first, entry+"\n"+strings.Repeat(" ", column))
	}
	for i := range doc.Fields {
		if key := doc.Fields[i].Key; key.Value == "cases" {
			return insert(key.Span.From, defaults+"\n")
		}
	}
	return insert(len(test.text.src), "\n"+defaults)
}

// generateTests resolves the action "Generate tests": it adds the edit that creates the file.
func generateTests(p *params) (any, error) {
	if p.Data == "" {
		return object{"title": p.Title, "kind": ""}, nil
	}
	src, err := os.ReadFile(p.Data)
	if err != nil {
		return nil, newRefusal("cannot read the saved graph: %v", err)
	}
	checked := inspect.Check(p.Data, src, false)
	if checked.Found.HasErrors() {
		return nil, newRefusal("fix the errors of the graph first, and save it")
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	made, err := flowtest.Generate(ctx, flowtest.Config{}, checked.Graph, "")
	if err != nil {
		return nil, newRefusal("cannot generate tests: %v", err)
	}
	if made.Cases == 0 {
		return nil, newRefusal("found no valid input; write the first case by hand")
	}
	uri := uriFromPath(makeTestPath(p.Data))
	create := object{"kind": "create", "uri": uri}
	write := object{"textDocument": object{"uri": uri, "version": nil}, "edits": []textEdit{{textRange{}, made.Text}}}
	return object{"title": p.Title, "kind": "source", "edit": object{"documentChanges": []any{create, write}}}, nil
}

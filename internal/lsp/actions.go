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

func (s *Server) codeActions(d *document, p *params) (any, error) {
	out := []codeAction{}
	if d.current != d.version {
		return out, nil
	}
	from, to := d.text.offset(p.Range.Start), d.text.offset(p.Range.End)
	from, to = d.text.lines[d.text.position(from).Line], max(from, to)
	for _, e := range fix.Edits(d.checked.Graph, d.checked.Found) {
		if e.Span.To < from || e.Span.From > to+len(d.text.line(d.text.position(to).Line)) {
			continue
		}
		title := "Remove it"
		if e.Text != "" {
			title = fmt.Sprintf("Change to %s", strings.TrimSpace(e.Text))
		}
		edit := textEdit{d.text.span(e.Span.From, e.Span.To), e.Text}
		out = append(out, quickFix(title, d, edit))
	}
	switch {
	case flowtest.IsTestFile(d.path):
		out = append(out, s.stubActions(d, "")...)
	case d.checked.Graph != nil:
		path := testFileOf(d.path)
		test := s.document(path)
		if u := d.useAt(position{d.text.position(from).Line, p.Range.Start.Character}); test != nil && u != nil && u.kind == "node" && u.scope == (scope{}) {
			out = append(out, s.stubActions(test, u.name)...)
		}
		if _, err := os.Stat(path); err != nil && test == nil && !d.checked.Found.HasErrors() {
			out = append(out, codeAction{Title: "Generate tests", Kind: "source", Data: d.path})
		}
	}
	return out, nil
}

func quickFix(title string, d *document, edit textEdit) codeAction {
	return codeAction{Title: title, Kind: "quickfix", Edit: &workspaceEdit{Changes: map[string][]textEdit{d.uri: {edit}}}}
}

func testFileOf(flow string) string {
	return strings.TrimSuffix(flow, filepath.Ext(flow)) + ".test.yaml"
}

// stubActions offers a stub for each node that no case of a test file has one for, or for
// one node only.
func (s *Server) stubActions(test *document, only string) []codeAction {
	doc := valueIn(test.path, test.text)
	flow := strings.TrimSuffix(test.path, ".test"+filepath.Ext(test.path)) + ".yaml"
	if named := textAt(doc, "flow"); named != "" {
		flow = filepath.Join(filepath.Dir(test.path), filepath.FromSlash(named))
	}
	d := s.document(flow)
	if d == nil {
		return nil
	}
	g := inspect.Check(flow, []byte(d.text.src), false).Graph
	if g == nil {
		return nil
	}
	var out []codeAction
	stubbed := stubsIn(doc)
	for _, n := range g.Nodes {
		name := n.ID.Value
		if !flowtest.NeedsStub(n) || slices.Contains(stubbed, name) || only != "" && name != only {
			continue
		}
		value, err := json.Marshal(flowtest.MadeUp(g, n))
		if err != nil {
			continue
		}
		title := fmt.Sprintf("Add a stub for %s to %s", name, filepath.Base(test.path))
		out = append(out, quickFix(title, test, stubEdit(test, doc, name, string(value))))
	}
	return out
}

// stubsIn returns the nodes that have stubs anywhere in a test file.
func stubsIn(v *spec.Value) (out []string) {
	for i := range v.Items {
		out = append(out, stubsIn(&v.Items[i])...)
	}
	for i := range v.Fields {
		f := &v.Fields[i]
		if f.Key.Value == "stubs" {
			for k := range f.Value.Fields {
				out = append(out, f.Value.Fields[k].Key.Value)
			}
		}
		out = append(out, stubsIn(&f.Value)...)
	}
	return out
}

// stubEdit adds a stub to the defaults of a test file.
func stubEdit(test *document, doc *spec.Value, node, value string) textEdit {
	insert := func(offset int, text string) textEdit { return textEdit{test.text.span(offset, offset), text} }
	entry := node + ": {output: " + value + "}"
	defaults := doc.Get("defaults")
	for _, place := range []struct {
		in   *spec.Value
		text string
	}{{defaults.Get("stubs"), entry}, {defaults, "stubs: {" + entry + "}"}} {
		if place.in == nil || len(place.in.Fields) == 0 {
			continue
		}
		first := place.in.Fields[0].Key.Span.From
		if test.text.src[place.in.Span.From] == '{' {
			return insert(first, place.text+", ")
		}
		column := first - test.text.lines[test.text.position(first).Line]
		return insert(first, place.text+"\n"+strings.Repeat(" ", column))
	}
	for i := range doc.Fields {
		if key := doc.Fields[i].Key; key.Value == "cases" {
			return insert(key.Span.From, "defaults:\n  stubs:\n    "+entry+"\n\n")
		}
	}
	return insert(len(test.text.src), "\ndefaults:\n  stubs:\n    "+entry+"\n")
}

// generateTests completes the action "Generate tests" with an edit that creates the file.
func generateTests(p *params) (any, error) {
	if p.Data == "" {
		return codeAction{Title: p.Title}, nil
	}
	src, err := os.ReadFile(p.Data)
	if err != nil {
		return nil, refuse("cannot read the saved graph: %v", err)
	}
	checked := inspect.CheckWith(p.Data, src, false, spec.Beside(p.Data))
	if checked.Graph == nil || checked.Found.HasErrors() {
		return nil, refuse("fix the errors of the graph first, and save it")
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	made, err := flowtest.Generate(ctx, flowtest.Config{}, checked.Graph, "")
	if err != nil {
		return nil, refuse("cannot generate tests: %v", err)
	}
	if made.Cases == 0 {
		return nil, refuse("found no valid input; write the first case by hand")
	}
	uri := uriOf(testFileOf(p.Data))
	create := object{"kind": "create", "uri": uri}
	write := object{"textDocument": object{"uri": uri, "version": nil}, "edits": []textEdit{{textRange{}, made.Text}}}
	return codeAction{Title: p.Title, Kind: "source", Edit: &workspaceEdit{Document: []any{create, write}}}, nil
}

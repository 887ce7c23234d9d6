package lsp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/inspect"
)

// A node of an example that is renamed is renamed in its test file, and the tests pass.
func TestRenamedExamplesPassTheirTests(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/flow.test.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	for _, test := range paths {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(test))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "flow.yaml")
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		g := inspect.Check(path, src, false).Graph
		if slices.Contains([]string{"mcp-research", "library", "supervisor", "writer-critic", "triage"}, filepath.Base(filepath.Dir(test))) {
			continue // they need a server or a program, have answers of models by node, or flow style that yaml.v3 can't read
		}
		e := newEditor(t, path, string(src))
		n := g.Nodes[len(g.Nodes)/2]
		params := object{"textDocument": object{"uri": e.uri}, "position": e.position(n.ID.Span.From), "newName": "renamed_x"}
		var edit struct {
			Changes map[string][]struct {
				Range   struct{ Start, End position }
				NewText string
			}
		}
		e.call("textDocument/rename", params, &edit)
		for uri, changes := range edit.Changes {
			file := strings.TrimPrefix(uri, "file://")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			at := &editor{text: string(text)}
			out := at.text
			for _, c := range slices.Backward(changes) {
				from, to := at.offset(c.Range.Start), at.offset(c.Range.End)
				out = out[:from] + c.NewText + out[to:]
			}
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, found, err := flowtest.Load(flowtest.Config{}, filepath.Join(dir, "flow.test.yaml"))
		if err != nil || found.HasErrors() {
			t.Errorf("%s, %s renamed: %v %v", test, n.ID.Value, err, found)
			continue
		}
		for _, r := range flowtest.Run(flowtest.Config{}, []*flowtest.File{f}).Results {
			if !r.Passed {
				t.Errorf("%s, %s renamed: %s fails: %+v", test, n.ID.Value, r.Case, r.Failures)
			}
		}
	}
}

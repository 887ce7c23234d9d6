package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
)

const (
	outer = `graphrun: v1
name: outer
start: inner
nodes: {inner: {kind: graph, graph: deep/inner.yaml}}
edges: [{from: inner, to: END}]
`
	inner = `graphrun: v1
name: inner
start: one
nodes: {one: {kind: pass}}
edges: [{from: one, to: END}]
`
)

// TestLoadAgain checks that the catalog checks a flow again only if one of its files was changed,
// added or deleted, and that runs do not share the graph.
func TestLoadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flows, err := Open(dir, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flows.Close() })
	write("outer.yaml", outer)
	var last *Flow
	load := func(what string, same, valid bool) {
		t.Helper()
		flow, err := flows.Load("outer.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if (flow == last) != same || flow.IsValid() != valid {
			t.Errorf("%s: same %v, valid %v: %v", what, flow == last, flow.IsValid(), flow.Found)
		}
		last = flow
	}
	load("the first time", false, false)
	load("again", true, false)
	write("deep/inner.yaml", inner)
	load("a file has come", false, true)
	load("again", true, true)
	write("deep/inner.yaml", inner[:len(inner)-2])
	load("a file has changed", false, false)
	write("deep/inner.yaml", inner)
	load("and back", false, true)
	write("outer.yaml", outer+"\n")
	load("its own file has changed", false, true)
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := flows.Prepare("outer.yaml", r); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "deep", "inner.yaml")); err != nil {
		t.Fatal(err)
	}
	load("a file has gone", false, false)
	if err := os.Remove(filepath.Join(dir, "outer.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := flows.Load("outer.yaml"); err == nil || len(flows.flows) != 0 {
		t.Errorf("a flow that has gone: %v, %d are kept", err, len(flows.flows))
	}
}

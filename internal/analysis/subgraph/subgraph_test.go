package subgraph_test

import (
	"io/fs"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

// Load reads a file once, by a path relative to the file that names it. Problem follows the
// name in messages.
func TestLoad(t *testing.T) {
	const head = "graphrun: v1\nname: g\nstart: a\n"
	files := map[string]string{
		"sub/good.yaml": head + "nodes: {a: {kind: graph, graph: ./deep.yaml}}\nedges: [{from: a, to: END}]\noutput: 1\n",
		"sub/deep.yaml": head + "nodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n",
		"bad.yaml":      head + "nodes: {a: {kind: pass}}\nedges: [{from: a, to: b}]\n",
		"list.yaml":     "- 1\n",
	}
	reads := map[string]int{}
	root, _ := spec.Parse("root.yaml", []byte(head+"nodes: {a: {kind: graph, graph: sub/good.yaml}}\nedges: [{from: a, to: END}]\n"), spec.Options{})
	l := subgraph.New(root, nil, func(path string) ([]byte, error) {
		reads[path]++
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}, func(_ *spec.File, found spec.Diagnostics) spec.Diagnostics { return found })
	for name, want := range map[string]string{
		"none.yaml": "does not exist",
		"list.yaml": "is not a graph file",
		"bad.yaml":  `is not valid: line 5: "b" is not a node`,
	} {
		if c := l.Load(root, "", name); c == nil || c.Graph != nil || len(c.Problem) < len(want) || c.Problem[:len(want)] != want {
			t.Errorf("%s: %+v, want %s", name, c, want)
		}
	}
	references := subgraph.References(root)
	good := l.Load(root, "", references[0].Value)
	if good.Graph == nil || good != l.Load(root, "", "./sub/good.yaml") || reads["sub/good.yaml"] != 1 {
		t.Errorf("%+v, read %d times", good, reads["sub/good.yaml"])
	}
	if deep := l.Load(good.Graph, good.File, subgraph.References(good.Graph)[0].Value); deep == nil || deep.Path != "sub/deep.yaml" || deep.Graph == nil {
		t.Errorf("%+v", deep)
	}
	if c := l.Load(root, "", "{{ name }}.yaml"); c != nil {
		t.Errorf("a computed name: %+v", c)
	}
}

package node

import (
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// A role has the model that the caller of the run sets, else that of the graph, else the default.
func TestResolveModel(t *testing.T) {
	g, found := spec.Parse("f.yaml", []byte(`graphrun: v1
name: m
start: a
models: {default: openai/d, judge: fast, fast: scripted/f, x: y, y: x}
nodes: {a: {kind: pass}}
edges: [{from: a, to: END}]
`), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, c := range []struct {
		named string
		over  map[string]string
		want  modelRef
	}{
		{"openai/a/b", nil, modelRef{"openai/a/b", "flow", nil}},
		{"default", nil, modelRef{"openai/d", "flow", nil}},
		{"router", nil, modelRef{"openai/d", "flow", nil}},
		{"judge", nil, modelRef{"scripted/f", "flow", nil}},
		{"router", map[string]string{"default": "scripted/o"}, modelRef{"scripted/o", "caller", nil}},
		{"judge", map[string]string{"default": "scripted/o"}, modelRef{"scripted/f", "flow", nil}},
		{"judge", map[string]string{"fast": "scripted/o"}, modelRef{"scripted/o", "caller", nil}},
		{"x", nil, modelRef{}},
	} {
		task := &runner.Task{Graph: g, Dir: "flow", Models: &handler.ModelAccess{Overrides: c.over, Dir: "caller"}}
		got, err := resolveModel(task, c.named)
		if got.name != c.want.name || got.dir != c.want.dir || (err != nil) != (c.want.name == "") {
			t.Errorf("%s with %v: %v, %v; want %v", c.named, c.over, got, err, c.want)
		}
	}
	if _, err := resolveModel(&runner.Task{Graph: &spec.Graph{}, Models: &handler.ModelAccess{}}, "default"); err == nil {
		t.Error("there is a model where none is declared")
	}
}

// A model has a known price by its name, except on a server that the graph defines.
func TestPricedModel(t *testing.T) {
	providers := map[string]any{
		"mine": map[string]any{"type": "openai"}, "local": map[string]any{"type": "openai", "base_url": "http://x/"},
		"openai": map[string]any{"type": "openai", "base_url": "http://y/"}, "fake": map[string]any{"type": "scripted"},
	}
	for ref, want := range map[string]string{
		"anthropic/a": "anthropic/a", "mine/m": "openai/m", "local/m": "", "openai/m": "", "fake/p/q.yaml": "scripted/p/q.yaml",
	} {
		if got := (modelRef{ref, "", providers}).priceName(); got != want {
			t.Errorf("%s is priced as %q, want %q", ref, got, want)
		}
	}
}

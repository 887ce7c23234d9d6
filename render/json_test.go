package render

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// compiledSchema returns Schema as another implementation reads it.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("drawing.json", decodedJSON(t, Schema())); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("drawing.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decodedJSON returns a value as decoded from its JSON.
func decodedJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestJSON compares a whole file, with a trail and a subgraph.
func TestJSON(t *testing.T) {
	g, _ := spec.Parse("flow.yaml", []byte(flow), spec.Options{})
	inner, _ := spec.Parse("inner.yaml", []byte("graphrun: v1\nname: inner\nstart: x\nnodes: {x: {kind: graph, graph: y}}\nedges: [{from: x, to: END}]\n"), spec.Options{})
	d := Draw(g, Options{
		Trail: &Trail{
			Nodes: map[string]*NodeTrail{
				"a": {Visits: 2, Spent: 1500 * time.Microsecond},
				"b": {Visits: 1, Failures: 1, Error: &machine.Failure{Kind: "timeout", Message: "too slow <1 s>"}, Jumps: map[string]int{"END": 1}},
				"c": {Visits: 1, Waiting: true},
			},
			Fired: map[int]int{0: 1},
		},
	})
	trail := &Trail{Nodes: map[string]*NodeTrail{"x": {Visits: 1, Inner: &Trail{Nodes: map[string]*NodeTrail{"a": {Visits: 1}}}}}}
	opens := 0
	outer := Draw(inner, Options{Trail: trail, Open: func(in *spec.Graph, _ *spec.Node) *spec.Graph {
		opens++
		return in // the graph runs itself; Draw must stop
	}})
	if opens != 1 || len(outer.Subgraphs) != 0 {
		t.Errorf("a graph that runs itself was opened %d times", opens)
	}
	outer = Draw(inner, Options{Trail: trail, Open: func(*spec.Graph, *spec.Node) *spec.Graph { return g }})
	for name, d := range map[string]*Drawing{"flow.json": d, "outer.json": outer} {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name, append(text, '\n'))
		if err := compiledSchema(t).Validate(decodedJSON(t, d)); err != nil {
			t.Error(name, err)
		}
	}
}

// TestSchema checks that every example fits the schema, and that unknown keys don't.
func TestSchema(t *testing.T) {
	s := compiledSchema(t)
	flows, err := filepath.Glob("../examples/*/flow.yaml")
	if err != nil || len(flows) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range flows {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		g, _ := spec.Parse(name, src, spec.Options{Load: spec.NewLoader(name)})
		for _, trail := range []*Trail{nil, {}, {Coverage: true}} {
			if err := s.Validate(decodedJSON(t, Draw(g, Options{Trail: trail}))); err != nil {
				t.Error(name, err)
			}
		}
	}
	doc := decodedJSON(t, drawFlow(t, Options{})).(map[string]any)
	for _, at := range []map[string]any{doc, doc["nodes"].([]any)[0].(map[string]any), doc["edges"].([]any)[0].(map[string]any)} {
		for _, key := range slices.Sorted(maps.Keys(at)) {
			kept := at[key]
			delete(at, key)
			if s.Validate(doc) == nil {
				t.Errorf("the schema does not ask for %q", key)
			}
			at[key] = kept
		}
		at["more"] = 1
		if s.Validate(doc) == nil {
			t.Errorf("the schema lets a key through that is not there")
		}
		delete(at, "more")
	}
}

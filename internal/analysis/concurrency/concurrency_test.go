package concurrency_test

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// flowOf returns the control flow of a graph that starts at node a.
func flowOf(t *testing.T, nodes, edges string) *controlflow.Graph {
	t.Helper()
	text := "graphrun: v1\nname: g\nstart: a\nstate: {ok: {type: boolean, default: true}}\nnodes: " + nodes + "\nedges: " + edges + "\n"
	g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	bound, found := bind.Bind(g, nil, nil)
	vertices := controlflow.NewVertices(g)
	if found.HasErrors() || !vertices.WellFormed() {
		t.Fatal(found, "not well formed:", text)
	}
	return controlflow.New(vertices, bound)
}

// FindPairs follows two tokens of a fan-out until they meet at a join. Nodes after the join run alone,
// unless a fan-out on a cycle starts branches again while a token is still before the join.
func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, edges string
		together     [][2]string // all that are, each in its order in the file
	}{
		"join": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}}",
			"[{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: END}]",
			[][2]string{{"b", "c"}},
		},
		"round a join": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}}",
			"[{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: a, when: visits.e < 3}, {from: e, to: END}]",
			[][2]string{{"b", "c"}},
		},
		"a join that starts another round or branches": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}, f: {kind: pass}, g: {kind: pass, join: {wait: all}}}",
			"[{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: a, when: visits.d < 2}, {from: d, to: [e, f]}, {from: [e, f], to: g}, {from: g, to: END}]",
			[][2]string{{"b", "c"}, {"e", "f"}},
		},
		"a way past the join": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}}",
			"[{from: a, to: [b, c]}, {from: b, to: d}, {from: c, to: d, when: visits.c < 1}, {from: c, to: e}, {from: d, to: END}, {from: e, to: END}]",
			[][2]string{{"b", "c"}, {"b", "e"}, {"d", "e"}},
		},
		"rounds of one branch while another waits": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, e: {kind: pass}, f: {kind: pass, join: {wait: all}}, g: {kind: pass, join: {wait: all}}}",
			"[{from: a, to: [b, c]}, {from: c, to: [d, e]}, {from: [d, e], to: f}, {from: f, to: c, when: visits.c < 3}, {from: f, to: g}, {from: b, to: g}, {from: g, to: END}]",
			[][2]string{{"b", "c"}, {"b", "d"}, {"b", "e"}, {"b", "f"}, {"d", "e"}},
		},
		"a cycle before the fan-out": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}",
			"[{from: a, to: b}, {from: b, to: c}, {from: c, to: [b, c], when: visits.c < 3}, {from: c, to: END}]",
			[][2]string{{"b", "b"}, {"b", "c"}, {"c", "c"}},
		},
	} {
		w := flowOf(t, c.nodes, c.edges)
		pairs := concurrency.FindPairs(w, nil)
		for i, x := range w.Source.Nodes {
			for _, y := range w.Source.Nodes[i:] {
				want := slices.Contains(c.together, [2]string{x.ID.Value, y.ID.Value})
				if got := pairs.MayRunTogether(x.Index, y.Index); got != want || pairs.MayRunTogether(y.Index, x.Index) != got {
					t.Errorf("%s: %s and %s at once: %v, want %v", name, x.ID.Value, y.ID.Value, got, want)
				}
			}
		}
	}
}

// With starts, answers err on the side of no: any join waits, and the fan-out is known.
func TestFork(t *testing.T) {
	const nodes = "{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: any}}, e: {kind: pass}}"
	for name, c := range map[string]struct {
		edges    string
		together [][2]string
		meets    bool // at d
	}{
		"join":             {"[{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: END}]", [][2]string{{"b", "c"}}, true},
		"one or the other": {"[{from: a, to: b, when: ok}, {from: a, to: c}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: END}]", nil, false},
		"different ways":   {"[{from: a, to: [b, c]}, {from: b, to: d}, {from: d, to: e}, {from: c, to: e}, {from: e, to: END}]", [][2]string{{"b", "c"}, {"c", "d"}}, false},
	} {
		w := flowOf(t, nodes, c.edges)
		k := concurrency.FindPairs(w, func(int, *controlflow.Group, int, int) bool { return true })
		for i, x := range w.Source.Nodes {
			for _, y := range w.Source.Nodes[i+1:] {
				want := slices.Contains(c.together, [2]string{x.ID.Value, y.ID.Value})
				if fork, got := k.Fork(x.Index, y.Index); got != want || got && fork != w.Vertex("a") {
					t.Errorf("%s: %s and %s in different branches of %d: %v, want %v", name, x.ID.Value, y.ID.Value, fork, got, want)
				}
			}
		}
		if got := k.MayMeetAt(w.Vertex("d")); got != c.meets {
			t.Errorf("%s: branches meet at d: %v, want %v", name, got, c.meets)
		}
	}
}

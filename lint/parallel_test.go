package lint

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// Two tokens of one fan-out are followed until a join takes them in: behind it nothing
// runs beside its node, and on a cycle a fan-out starts what stands before it.
func TestInParallel(t *testing.T) {
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
		"a way past the join": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}}",
			"[{from: a, to: [b, c]}, {from: b, to: d}, {from: c, to: d, when: visits.c < 1}, {from: c, to: e}, {from: d, to: END}, {from: e, to: END}]",
			[][2]string{{"b", "c"}, {"b", "e"}, {"d", "e"}},
		},
		"a cycle before the fan-out": {
			"{a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}",
			"[{from: a, to: b}, {from: b, to: c}, {from: c, to: [b, c], when: visits.c < 3}, {from: c, to: END}]",
			[][2]string{{"b", "b"}, {"b", "c"}, {"c", "c"}},
		},
	} {
		g, _ := spec.Parse("g.yaml", []byte("graphrun: v1\nname: g\nstart: a\nnodes: "+c.nodes+"\nedges: "+c.edges+"\n"), spec.Options{})
		f, _ := checkGraph(g, Options{})
		for i, x := range g.Nodes {
			for _, y := range g.Nodes[i:] {
				want := slices.Contains(c.together, [2]string{x.ID.Value, y.ID.Value})
				if got := f.inParallel(x.Index, y.Index); got != want || f.inParallel(y.Index, x.Index) != got {
					t.Errorf("%s: %s and %s at once: %v, want %v", name, x.ID.Value, y.ID.Value, got, want)
				}
			}
		}
	}
}

// What a set node has written is not certain where a branch may write beside it, on a
// cycle too.
func TestWritesBesideOnCycle(t *testing.T) {
	const text = `graphrun: v1
name: g
start: first
limits: {max_steps: 14, timeout: 1m}
state: {ok: {type: boolean, default: false}}
policies: [{forbid: END, after: mark}]
nodes:
  first: {kind: set, set: {ok: not ok}}
  mark: {kind: set, set: {ok: true}}
  ask: {kind: exec, command: [x], output: {type: boolean}, writes: [ok]}
edges:
  - {from: first, to: ask}
  - {from: mark, to: END, when: not ok}
  - {from: mark, to: [ask, mark]}
  - {from: ask, to: ask, when: ok and visits.mark >= 1}
  - {from: ask, to: mark}
`
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	for _, d := range Check(g, Options{Optional: true}) {
		if d.Rule == "constant-condition" || d.Rule == "policy-kept" {
			t.Errorf("ask may write false beside mark, but: %s", d.Message)
		}
	}
}

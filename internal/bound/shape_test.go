package bound

import (
	"os"
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// If branches and people make too many paths, the shape of the graph still bounds a run, as long
// as no cycle is unbounded.
func TestBoundByShape(t *testing.T) {
	for flow, want := range map[string]float64{
		"onboard":    12, // the branches of a person who joins, at one join
		"etl":        14, // three tables, from two nodes that lead to them
		"moderation": 11, // not all of the ends
	} {
		text, err := os.ReadFile("../../testdata/flows/" + flow + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		g, _ := spec.Parse("flow.yaml", text, spec.Options{})
		if b, ok := Of(g, Options{}); !ok || b.Steps.Max != want {
			t.Errorf("%s: at most %v steps, want %v", flow, b.Steps.Max, want)
		}
	}
	const rounds = `graphrun: v1
name: g
start: a
limits: {max_steps: 90, node_timeout: 1m}
state: {text: {type: string, default: ""}}
nodes:
  a: {kind: human, prompt: which, writes: [text]}
  b: {kind: exec, command: [x], max_visits: 4}
  c: {kind: exec, command: [x], max_visits: 5}
  d: {kind: exec, command: [x]}
  e: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [b, d]}
  - {from: b, to: c}
  - {from: c, to: b, when: text != 'x'}
  - {from: [c, d], to: e}
  - {from: [b, c], to: END, condition: on_failure}
  - {from: e, to: END}
`
	g, _ := spec.Parse("g.yaml", []byte(rounds), spec.Options{})
	if b, ok := Of(g, Options{}); !ok || b.Steps.Max > 12 || b.Steps.Limit != "" {
		t.Errorf("at most %v steps by %q, want at most 12: 1 + 4 + 5 + 1 + 1", b.Steps.Max, b.Steps.Limit)
	}
}

// A join waits for the branches of each fan-out separately. It runs more than once if the fan-out
// is in a cycle.
func TestBoundJoinOfSeveral(t *testing.T) {
	const text = `graphrun: v1
name: g
start: n0
limits: {max_steps: 60, max_visits: 4}
parallel: {on_failure: continue_others}
nodes:
  n0: {kind: pass}
  n1: {kind: pass, join: {wait: all}}
  n2: {kind: pass, max_visits: 2}
edges:
  - {from: n0, to: [n2, n1]}
  - {from: n1, to: END}
  - {from: n2, to: [END, n0]}
`
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	const takes = 8 // n0 n2 n1 n0 n2 n1 n0 n1: the third n2 is refused
	if b, ok := Of(g, Options{}); !ok || b.Steps.Max < takes {
		t.Errorf("at most %v steps, but a run takes %d", b.Steps.Max, takes)
	}
}

// A list of labels may name one node several times.
func TestBoundOfLists(t *testing.T) {
	const text = `graphrun: v1
name: g
start: a
limits: {max_steps: 60}
state: {l: {type: array, items: {type: string}, default: []}}
nodes:
  a: {kind: pass, goto: l, ends: [b, c]}
  b: {kind: pass}
  c: {kind: pass}
edges:
  - {from: [b, c], to: END}
`
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	if b, ok := Of(g, Options{}); !ok || b.Steps.Max != 60 {
		t.Errorf("at most %v steps, want the limit, 60", b.Steps.Max)
	}
}

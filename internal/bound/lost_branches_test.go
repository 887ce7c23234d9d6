package bound

import (
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// Under wait_all a join runs although every branch has failed at some node, also if the join is
// implicit, so that the paths are not followed.
func TestBoundOfLostBranches(t *testing.T) {
	const text = `graphrun: v1
name: lost
start: a
parallel: {join: auto, on_failure: wait_all}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  c: {kind: exec, command: [x]}
  d: {kind: pass}
  e: {kind: pass}
  f: {kind: pass}
  g: {kind: pass}
  h: {kind: pass}
  i: {kind: pass}
  j: {kind: pass}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: d}
  - {from: d, to: e}
  - {from: e, to: f}
  - {from: c, to: g}
  - {from: g, to: h}
  - {from: h, to: i}
  - {from: [f, i], to: j}
  - {from: j, to: END}
`
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	const takes = 4 // a b c j
	if b, ok := Of(g, Options{}); !ok || b.Steps.Min > takes {
		t.Errorf("at least %v steps, but a run takes %d", b.Steps.Min, takes)
	}
}

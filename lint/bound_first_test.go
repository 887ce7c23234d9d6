package lint

import (
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// A join of the first N leaves the branches of other fan-outs alone: n0 goes on when n3
// runs, though it leads to n3 too, while the n1 and n2 of the same fan-out end.
func TestBoundOfJoinsAmongFanOuts(t *testing.T) {
	const flow = `graphrun: v1
name: g
start: n0
limits: {max_steps: 14}
state: {ok: {type: boolean, required: true}}
nodes:
  n0: {kind: pass}
  n1: {kind: pass}
  n2: {kind: pass, max_visits: 2}
  n3: {kind: pass, join: {wait: 2}}
edges:
  - {from: n0, to: [n0, n1]}
  - {from: n1, to: n2}
  - {from: n2, to: n3}
  - {from: n3, to: END, when: step >= 6}
  - {from: n3, to: n1, when: ok}
  - {from: n3, to: END}
`
	g, _ := spec.Parse("g.yaml", []byte(flow), spec.Options{})
	b, ok := Bound(g, Options{})
	if !ok || b.Steps.Max != 14 || len(b.Steps.MaxPath) != 14 {
		t.Errorf("at most %v steps by the path %v, want 14", b.Steps.Max, b.Steps.MaxPath)
	}
}

package lint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// A join that fails because it is bypassed takes its step when those that can't come
// have ended.
func TestBoundsOfBypassedJoins(t *testing.T) {
	const steps = 9
	for _, policy := range []string{"fail_all", "continue_others", "wait_all"} {
		text := "graphrun: v1\nname: g\nstart: s\nnodes:\n  s: {kind: pass, parallel: {on_failure: " + policy + "}}" + `
  a: {kind: exec, command: [x]}
  b: {kind: pass}
  j: {kind: pass, join: {wait: all, on_bypass: fail}}
  h: {kind: pass}
  h2: {kind: pass}
  d: {kind: pass}
edges:
  - {from: s, to: [a, b]}
  - {from: b, to: END}
  - {from: a, to: h, condition: on_failure}
  - {from: a, to: j}
  - {from: h, to: h2}
  - {from: j, to: h2, condition: on_failure}
  - {from: j, to: d}
  - {from: h2, to: d}
  - {from: d, to: END}
`
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if ds = append(ds, spec.Check(g)...); ds.HasErrors() {
			t.Fatalf("%s: %v", policy, ds)
		}
		b, ok := lint.Bound(g, lint.Options{})
		if !ok || b.Steps.Max != steps {
			t.Errorf("%s: at most %v steps, want %v", policy, b.Steps.Max, steps)
		}
		const tries = 300
		most := 0
		plan, _ := machine.Build(g, nil)
		m := maker{rand.New(rand.NewPCG(1, 2))}
		for range tries {
			r := m.play(t, plan, nil)
			most = max(most, r.steps)
		}
		if float64(most) != steps {
			t.Errorf("%s: a run takes up to %d steps, want %v", policy, most, steps)
		}
	}
}

package lint_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// A branch that completes a join cancels the others while they run, so steps that they can't take any
// more break no policy. Steps that they may take before do.
func TestRacesToJoins(t *testing.T) {
	const (
		two    = "  j: {kind: pass, join: {wait: 2}}\n"
		first  = "  j: {kind: pass, join: {wait: any}}\n"
		slow   = "  b: {kind: exec, command: [x]}\n"
		pass   = "  a: {kind: pass}\n"
		around = "  - {from: s, to: [a, b]}\n  - {from: b, to: END, condition: on_failure}\n  - {from: b, to: j}\n  - {from: j, to: END}\n"
		twice  = "  - {from: a, to: j}\n  - {from: a, to: j, condition: always}\n"
		late   = "  - {from: s, to: [a, x]}\n  - {from: x, to: b}\n  - {from: b, to: END, condition: on_failure}\n  - {from: b, to: j}\n  - {from: j, to: END}\n  - {from: a, to: a, when: visits.a < 2}\n"
		before = "  x: {kind: pass}\n"
	)
	for name, c := range map[string]struct {
		nodes, edges string
		broken       bool
	}{
		"two edges are enough":      {two + slow + pass, twice + around, false},
		"one of two is not":         {two + slow + pass, "  - {from: a, to: j}\n" + around, true},
		"one of several":            {first + slow + pass, "  - {from: a, to: j}\n  - {from: a, to: x}\n  - {from: x, to: j}\n" + around, false},
		"under a condition":         {first + slow + pass, "  - {from: a, to: j, when: visits.a < 2}\n  - {from: a, to: j}\n" + around, false},
		"slow, too":                 {first + slow + "  a: {kind: exec, command: [x]}\n", "  - {from: a, to: j}\n" + around, true},
		"failed, on its way":        {first + slow + "  a: {kind: pass, max_visits: 1}\n", "  - {from: a, to: j, condition: on_failure}\n" + late, false},
		"failed, under a condition": {first + slow + "  a: {kind: pass, max_visits: 1}\n", "  - {from: a, to: j, condition: on_failure, when: visits.a < 9}\n" + late, false},
		"skipped, on its way":       {first + slow + "  a: {kind: pass, max_visits: 1, on_max_visits: skip}\n", "  - {from: a, to: j}\n" + late, false},
	} {
		if strings.Contains(c.edges, "x") && !strings.Contains(c.nodes, "  x:") {
			c.nodes += before
		}
		text := "graphrun: v1\nname: g\nstart: s\npolicies: [{require: j, before: END}]\nnodes:\n  s: {kind: pass}\n" + c.nodes + "edges:\n" + c.edges
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if ds = append(ds, spec.Check(g)...); ds.HasErrors() {
			t.Fatalf("%s: %v", name, ds)
		}
		found := ""
		for _, d := range lint.Check(g, lint.Options{}) {
			if d.Severity == spec.Error && d.Rule != "policy-violated" {
				t.Fatalf("%s: %v", name, d)
			}
			if d.Rule == "policy-violated" {
				found = d.Message
			}
		}
		if (found != "") != c.broken {
			t.Errorf("%s: found %q, want a violation: %v", name, found, c.broken)
		}
		const tries = 300
		m := maker{rand.New(rand.NewPCG(1, 2))}
		plan, _ := machine.Build(g, nil, nil)
		broke := false
		for range tries {
			r := m.play(t, plan, nil)
			broke = broke || r.reason == "policy"
		}
		if broke != c.broken {
			t.Errorf("%s: a run breaks the policy: %v", name, broke)
		}
	}
}

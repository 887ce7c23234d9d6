package lint

import (
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// The value that a set node wrote is unknown if a parallel branch may also write it, even on a
// cycle.
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

package explore

import (
	"slices"
	"strings"
	"testing"
)

// Runs that reach the same node with different pasts may continue differently. A search that
// confuses them would prove false claims.
func TestDigestTellsApart(t *testing.T) {
	const gate = "start: a\npolicies: [{require: ok, before: ship}]\n"
	for name, c := range map[string]struct{ text, want string }{
		"which branch failed": {gate + `
parallel: {on_failure: wait_all}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, d: {kind: exec, command: [x], join: {wait: all}}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: ship, when: branches.c.error != nil}
  - {from: d, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, "a b c d"},
		"what a step writes when a model has decided": {gate + `
state: {k: {type: string}}
nodes:
  a: {kind: exec, command: [x], output: {type: object, properties: {k: {enum: [stop, c, b]}}, required: [k]}, writes: {k: output.k}}
  x: {kind: exec, command: [x]}
  ok: {kind: pass}
  ship: {kind: pass}
edges:
  - {from: a, to: END, when: output.k == 'stop'}
  - {from: a, to: x, condition: llm_decide}
  - {from: a, to: ok, condition: llm_decide}
  - {from: x, to: ship, when: k == 'b'}
  - {from: x, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, "a x"},
		"what failed before a retry": {gate + `
nodes:
  a: {kind: http, url: 'http://x', retry: {max_attempts: 2, initial_interval: 1s, on: [network, timeout]}}
  ok: {kind: pass}
  ship: {kind: pass}
edges:
  - {from: a, to: ok}
  - {from: a, to: ok, condition: on_failure, when: error.kind == 'timeout'}
  - {from: a, to: ship, condition: on_failure, when: error.kind == 'network'}
  - {from: a, to: ok, condition: on_failure}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, "a"},
		"which node of finally runs": {`
start: a
finally: [f, g, ship]
nodes: {a: {kind: pass}, f: {kind: exec, command: [x]}, g: {kind: exec, command: [x]}, ship: {kind: exec, command: [x]}}
edges:
  - {from: a, to: END}`, "a f g ship"},
	} {
		got := describeAnswer(explorePolicy(t, c.text, func(q *Question) {
			if !strings.Contains(c.text, "policies") {
				q.Found = func(r *Run) bool { return slices.Contains(r.Path, len(q.Model.graph.Nodes)-1) }
			}
		}))
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

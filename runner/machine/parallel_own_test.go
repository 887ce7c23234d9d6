package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// rivals is a fan-out of three tasks that write one key; c is the first to end.
func rivals(top, own string) string {
	return top + `
state: {x: {type: string}}
nodes:
  a: {kind: pass, parallel: {` + own + `}}
  b: {kind: exec, command: [x], writes: [x]}
  c: {kind: exec, command: [x], writes: [x]}
  d: {kind: exec, command: [x], writes: [x]}
edges: [{from: a, to: [b, c, d]}, {from: [b, c, d], to: END}]`
}

// What `parallel` says at a node beats what it says of the graph (GraphSpec §4).
func TestParallelOfANode(t *testing.T) {
	race := replies{"b": once(after(3, "b")), "c": once(after(1, "c")), "d": once(after(2, "d"))}
	const chain = `
nodes: {a: {kind: pass, parallel: {join: %s}}, b: {kind: pass}, b2: {kind: pass}, c: {kind: pass}, d: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: [b2, c], to: d}, {from: d, to: END}]`
	runAll(t, []simCase{
		{
			name: "first_wins of the node", flow: rivals("parallel: {conflict: error}\n", "conflict: first_wins"), replies: race,
			path: "a b c d", state: map[string]any{"x": "c"}, quality: machine.Clean,
		},
		{
			name: "last_wins of the node", flow: rivals("parallel: {conflict: first_wins}\n", "conflict: last_wins"), replies: race,
			path: "a b c d", state: map[string]any{"x": "b"}, quality: machine.Clean,
		},
		{
			name: "error of the node", flow: rivals("", "conflict: error"), replies: race, path: "a b c d",
			status: machine.Failed, reason: "conflict", kind: "conflict", at: "c", says: `"b" and "c" both write`,
		},
		{
			name: "error of a fan-out inside does not judge the one around it",
			flow: `
state: {x: {type: string}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: [x]}
  n: {kind: pass, parallel: {conflict: error}}
  n0: {kind: pass}
  n1: {kind: exec, command: [x], writes: [x]}
  n2: {kind: pass}
edges: [{from: a, to: [n0, n]}, {from: n0, to: b}, {from: n, to: [n1, n2]}, {from: [b, n1, n2], to: END}]`,
			replies: replies{"b": once(after(1, "b")), "n1": once(after(2, "n1"))}, path: "a n0 n b n1 n2",
			state: map[string]any{"x": "n1"}, quality: machine.Clean,
		},
		{
			name: "auto of the node", flow: "\n" + strings.ReplaceAll(chain, "%s", "auto"), path: "a b c b2 d", quality: machine.Clean,
		},
		{
			name: "explicit of the node", flow: "parallel: {join: auto}\n" + strings.ReplaceAll(chain, "%s", "explicit"), path: "a b c b2 d d", quality: machine.Clean,
		},
	})
}

// A wait ends as any attempt does when its timeout comes first.
func TestWaitTimeout(t *testing.T) {
	const flow = `
nodes: {a: {kind: wait, for: 3s, timeout: %s}, h: {kind: pass}}
edges: [{from: a, to: h, condition: on_failure, when: error.kind == 'timeout'}, {from: a, to: END}, {from: h, to: END}]`
	runAll(t, []simCase{
		{name: "shorter", flow: strings.ReplaceAll(flow, "%s", "1s"), path: "a h", took: 1, quality: machine.Degraded},
		{name: "as long", flow: strings.ReplaceAll(flow, "%s", "3s"), path: "a", took: 3, quality: machine.Clean},
		{name: "longer", flow: strings.ReplaceAll(flow, "%s", "4s"), path: "a", took: 3, quality: machine.Clean},
	})
}

// Nothing added to nothing is an empty list.
func TestListReducersOfNothing(t *testing.T) {
	runAll(t, []simCase{{
		name: "append and prepend", flow: `
state:
  p: {type: array, reducer: append, default: []}
  q: {type: array, reducer: prepend, default: []}
  r: {type: array, reducer: append}
  s: {type: array, reducer: prepend}
  t: {type: array, reducer: append}
  seen: {}
nodes:
  a: {kind: set, set: {p: [], q: "filter([1], # > 5)", r: [], s: [], seen: "[p, q, r, s]"}}
  b: {kind: set, each: "[1, 2]", set: {t: []}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
		path: "a b", quality: machine.Clean,
		state: map[string]any{
			"p": []any{}, "q": []any{}, "r": []any{}, "s": []any{}, "t": []any{},
			"seen": []any{[]any{}, []any{}, []any{}, []any{}},
		},
	}})
}

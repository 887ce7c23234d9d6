package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Several edges that fire at once: which they are, and in which order their
// targets run.
func TestFanOut(t *testing.T) {
	nodes := "nodes: {a: {kind: exec, command: [x]}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}}\nedges:\n"
	all := strings.Replace(nodes, "[x]", "[x], routing: all", 1)
	ends := "  - {from: [b, c, d], to: END}\n"
	failing := script{"a": each(bad("tool"))}
	cases := []walkCase{
		{
			name: "a list of targets is one decision",
			flow: nodes + "  - {from: a, to: [b, c], when: 'step == 1'}\n  - {from: a, to: d, when: 'step == 1'}\n" + ends,
			path: "a b c", quality: machine.Clean,
		},
		{
			name: "a list of targets goes with its priority",
			flow: nodes + "  - {from: a, to: d, when: 'step == 1'}\n  - {from: a, to: [b, c], when: 'step == 1', priority: 1}\n" + ends,
			path: "a b c",
		},
		{
			name: "always alone is a fallback after success",
			flow: nodes + "  - {from: a, to: b, when: 'step > 1'}\n  - {from: a, to: c, condition: always}\n" + ends,
			path: "a c", quality: machine.Clean,
		},
		{
			name: "all on_success and always edges fire",
			flow: nodes + "  - {from: a, to: b}\n  - {from: a, to: d, when: 'step > 1'}\n  - {from: a, to: c, condition: always}\n" + ends,
			path: "a b c",
		},
		{
			name: "routing all fires every match and no fallback",
			flow: all + "  - {from: a, to: b, when: 'step == 1'}\n  - {from: a, to: c, when: 'step == 2'}\n  - {from: a, to: d, when: 'step < 5'}\n  - {from: a, to: c}\n" + ends,
			path: "a b d",
		},
		{
			name: "routing all without a match fires the fallback",
			flow: all + "  - {from: a, to: b, when: 'step == 2'}\n  - {from: a, to: c}\n" + ends,
			path: "a c",
		},
		{
			name: "routing all goes for failures too",
			flow: all + "  - {from: a, to: b, condition: on_failure, when: 'error.attempt == 1'}\n" +
				"  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n  - {from: a, to: d, condition: on_failure}\n" + ends,
			script: failing, path: "a b c", quality: machine.Degraded,
		},
		{
			name: "without routing all one failure filter fires",
			flow: nodes + "  - {from: a, to: b, condition: on_failure, when: 'error.attempt == 1'}\n" +
				"  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n  - {from: a, to: d, condition: on_failure}\n" + ends,
			script: failing, path: "a b",
		},
		{
			name:   "all plain on_failure edges fire, and no always",
			flow:   nodes + "  - {from: a, to: b, condition: on_failure}\n  - {from: a, to: d, condition: always}\n  - {from: a, to: c, condition: on_failure}\n" + ends,
			script: failing, path: "a b c",
		},
		{
			name:   "all always edges fire after a failure",
			flow:   nodes + "  - {from: a, to: b, condition: always}\n  - {from: a, to: c, condition: always}\n  - {from: a, to: d}\n" + ends,
			script: failing, path: "a b c", quality: machine.Degraded,
		},
		{
			name: "an error of a condition among several is an error of the run",
			flow: "state: {m: {type: object, default: {}}}\n" + all + "  - {from: a, to: b, when: 'step == 1'}\n  - {from: a, to: c, when: 'm.n > 3'}\n" + ends,
			path: "a", status: machine.Failed, reason: "expression", kind: "expression",
		},
		{
			name: "a list of labels in goto",
			flow: `
nodes: {a: {kind: exec, command: [x], ends: [b, c]}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: [b, c], to: END}]`,
			script: script{"a": each(ok(map[string]any{"goto": []any{"b", "c"}}))}, path: "a b c",
		},
		{
			name: "a node reached twice at once runs once; input is keyed by source, as inputs is",
			flow: `
state: {got: {}, same: {}}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: set, set: {got: inputs, same: input == inputs}}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: d, transform: "'from b'"}
  - {from: c, to: d, transform: "'from c'"}
  - {from: d, to: END}`,
			path: "a b c d", state: map[string]any{"got": map[string]any{"b": "from b", "c": "from c"}, "same": true},
		},
		{
			name: "with one source input is its value, and inputs is keyed",
			flow: `
state: {got: {}, all: {}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: set, set: {got: input, all: inputs}}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			script: script{"a": each(ok(5))}, path: "a b",
			state: map[string]any{"got": 5, "all": map[string]any{"a": 5}},
		},
		{
			name: "the output is that of the last in path order that reached END",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`,
			script: script{"b": each(late("b")), "c": each(ok("c"))}, path: "a b c", output: "c",
		},
		{
			name: "tasks of a superstep see the state of its beginning, routing sees all writes",
			flow: `
state: {x: {type: integer, default: 0}, y: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: set, set: {x: x + 1}}, c: {kind: set, set: {y: x + 10}}, d: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: d, when: x == 1 and y == 10}, {from: [b, c, d], to: END}]`,
			path: "a b c d",
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// Two branches write one key in one superstep.
func TestConflicts(t *testing.T) {
	flow := func(conflict, key string) string {
		return conflict + "state: {k: " + key + `, other: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x], writes: [k]}, c: {kind: exec, command: [x], writes: [k]}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`
	}
	inOrder := script{"b": each(ok("b")), "c": each(ok("c"))}
	reversed := script{"b": each(late("b")), "c": each(ok("c"))}
	first, refuse := "parallel: {conflict: first_wins}\n", "parallel: {conflict: error}\n"
	key := func(want any) map[string]any { return map[string]any{"k": want} }
	cases := []walkCase{
		{name: "the last wins", flow: flow("", "{}"), script: inOrder, path: "a b c", state: key("c")},
		{name: "the last that finished wins", flow: flow("", "{}"), script: reversed, path: "a b c", state: key("b")},
		{name: "first_wins", flow: flow(first, "{}"), script: inOrder, path: "a b c", state: key("b")},
		{name: "first_wins is the first that finished", flow: flow(first, "{}"), script: reversed, path: "a b c", state: key("c")},
		{
			name: "error ends the run, naming both and the key", flow: flow(refuse, "{default: 0}"), script: inOrder,
			status: machine.Failed, reason: "conflict", kind: "conflict", says: `"b" and "c" both write state key "k"`, state: key(0),
			path: "a b c",
		},
		{
			name: "a failed task is no party", flow: strings.Replace(flow(refuse, "{}"), "from: [b, c], to: END", "from: [b, c], to: END, condition: always", 1),
			script: script{"b": each(ok("b")), "c": each(bad("tool"))}, path: "a b c", state: key("b"),
		},
		{name: "other reducers reduce in declaration order", flow: flow(refuse, "{type: array, reducer: append}"), script: reversed, path: "a b c", state: key([]any{"b", "c"})},
		{
			name: "a task whose writes do not fit those before it fails and changes nothing", path: "a b c d", quality: machine.Degraded,
			flow: `
state: {n: {type: integer, maximum: 5, reducer: sum, default: 0}, who: {}, log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: [who, log, n]}
  c: {kind: exec, command: [x], writes: [who, log, n]}
  d: {kind: pass}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d, condition: on_failure}
  - {from: [b, c, d], to: END}`,
			script: script{
				"b": each(late(map[string]any{"who": "b", "log": "b", "n": 3})),
				"c": each(ok(map[string]any{"who": "c", "log": "c", "n": 4})),
			},
			state: map[string]any{"n": 3, "who": "b", "log": []any{"b"}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// What a failure does to the tasks beside it.
func TestSiblings(t *testing.T) {
	flow := `
state: {k: {type: integer, default: 0}, m: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x], writes: [m]}, c: {kind: exec, command: [x], writes: [k]}, d: {kind: exec, command: [x]}, e: {kind: pass}}
edges: [{from: a, to: [b, c, d]}, {from: [b, c, d], to: e}, {from: e, to: END}]`
	caught := strings.Replace(flow, "{from: e, to: END}", "{from: d, to: e, condition: on_failure}, {from: e, to: END}", 1)
	cases := []walkCase{
		{
			name: "a failure that nothing can catch cancels them; writes of those that had succeeded are kept", flow: flow,
			script: script{"b": each(ok(4)), "c": each(hang()), "d": each(bad("tool"))},
			status: machine.Failed, kind: "tool", path: "a b d", steps: 3, state: map[string]any{"k": 0, "m": 4},
		},
		{
			name: "a failure that may be caught does not", flow: caught,
			script: script{"b": each(ok(4)), "c": each(late(5)), "d": each(bad("tool"))},
			path:   "a b c d e", quality: machine.Degraded, state: map[string]any{"k": 5, "m": 4},
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// At most max_concurrency tasks run at once.
func TestConcurrency(t *testing.T) {
	flow := head + `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, d: {kind: exec, command: [x]}, e: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c, d, e]}, {from: [b, c, d, e], to: END}]`
	answers := script{"b": each(late(1)), "c": each(late(1)), "d": each(late(1)), "e": each(late(1))}
	for _, c := range []struct {
		flow string
		info machine.RunInfo
		most int
	}{
		{flow, machine.RunInfo{}, 4},
		{flow, machine.RunInfo{MaxConcurrency: 3}, 3},
		{flow + "\nlimits: {max_concurrency: 2}", machine.RunInfo{}, 2},
		{flow + "\nlimits: {max_concurrency: 2}", machine.RunInfo{MaxConcurrency: 1}, 1},
	} {
		w := walk(t, c.flow, answers, nil, c.info)
		if w.state.Status != machine.Completed || w.most != c.most {
			t.Errorf("status %s, %d tasks at once, want %d", w.state.Status, w.most, c.most)
		}
	}
}

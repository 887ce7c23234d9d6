package machine_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Branches: how far they go, where they meet, what the tasks of a superstep see
// (GraphSpec §5, §7). x nodes run in the driver and take time, p nodes do not.
func TestBranches(t *testing.T) {
	runAll(t, []simCase{
		{
			name: "branches of unequal length meet at a join, which runs once",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, b2: {kind: pass}, b3: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: b2, to: b3}, {from: b3, to: d}, {from: c, to: d}, {from: d, to: END}]`,
			path: "a b c b2 b3 d", quality: machine.Clean,
		},
		{
			name: "without a join a node runs whenever it is reached",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, b2: {kind: pass}, c: {kind: pass}, d: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: b2, to: d}, {from: c, to: d}, {from: d, to: END}]`,
			path: "a b c b2 d d", quality: machine.Clean,
		},
		{
			name: "a branch may branch again",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, b1: {kind: pass}, b2: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: b, to: [b1, b2]}, {from: [b1, b2, c], to: d}, {from: d, to: END}]`,
			path: "a b c b1 b2 d",
		},
		{
			name: "a branch may loop while others wait at the join",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: set, set: {n: n + 1}}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: b, to: b, when: n < 4}, {from: [b, c], to: d}, {from: d, to: END}]`,
			path: "a b c b b b d", state: map[string]any{"n": 4},
		},
		{
			name: "a branch that ends at END leaves the others running",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: pass}, c2: {kind: pass}, c3: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: b, to: END}, {from: c, to: c2}, {from: c2, to: c3}, {from: c3, to: END}]`,
			replies: replies{"b": once(after(1, "b")), "c3": once(after(1, "c3"))},
			path:    "a b c c2 c3", output: "c3", quality: machine.Clean,
		},
		{
			name: "a branch that ends at END is no longer waited for",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, c2: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: b, to: d}, {from: c, to: c2}, {from: c2, to: d, when: step > 50}, {from: c2, to: END}, {from: d, to: END}]`,
			path: "a b c c2 d", quality: machine.Clean,
		},
		{
			name: "a failure edge inside a branch keeps it alive",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, fix: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: b, to: fix, condition: on_failure}, {from: [b, fix, c], to: d}, {from: d, to: END}]`,
			replies: replies{"b": once(fails(1))}, path: "a b c fix d", quality: machine.Degraded,
		},
		{
			name: "reached twice in one superstep a node runs once; inputs holds each input",
			flow: `
state: {got: {}, same: {}}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: set, set: {got: inputs, same: input == inputs}}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: d, transform: "'of b'"}
  - {from: c, to: d, transform: "'of c'"}
  - {from: d, to: END}`,
			path:  "a b c d",
			state: map[string]any{"got": map[string]any{"b": "of b", "c": "of c"}, "same": true},
		},
		{
			name: "a node that several branches share goes on as one branch",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, e: {kind: pass}, m: {kind: pass}, d: {kind: pass, join: {wait: 2}}}
edges: [{from: a, to: [b, c, e]}, {from: [b, c], to: m}, {from: [m, e], to: d}, {from: d, to: END}]`,
			path: "a b c e m d", quality: machine.Clean,
		},
		{
			name: "tasks see the state of the superstep's start, routing sees all its writes",
			flow: `
state: {x: {type: integer, default: 1}, y: {type: integer, default: 0}, z: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: set, set: {x: 7}}, c: {kind: set, set: {y: x}}, d: {kind: set, set: {z: x + y}}}
edges: [{from: a, to: [b, c]}, {from: b, to: END}, {from: c, to: d, when: x == 7 and y == 1}, {from: c, to: END}, {from: d, to: END}]`,
			path: "a b c d", state: map[string]any{"x": 7, "y": 1, "z": 8},
		},
		{
			name: "goto starts a branch per item, each with its own input; one target may repeat",
			flow: `
state: {log: {type: array, reducer: append, default: []}}
nodes: {a: {kind: exec, command: [x], ends: {w: w, v: v}}, w: {kind: set, set: {log: input}}, v: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: [w, v], to: d}, {from: d, to: END}]`,
			replies: replies{"a": once(after(1, map[string]any{"goto": []any{
				map[string]any{"to": "w", "input": "one"}, "v", map[string]any{"to": "w", "input": "two"},
			}}))},
			path: "a w v w d", state: map[string]any{"log": []any{"one", "two"}}, quality: machine.Clean,
		},
		{
			name: "a repeated label without an input is one branch",
			flow: `
nodes: {a: {kind: exec, command: [x], ends: [w]}, w: {kind: pass}}
edges: [{from: w, to: END}]`,
			replies: replies{"a": once(after(0, map[string]any{"goto": []any{"w", "w"}}))}, path: "a w",
		},
		{
			name: "goto to END and a node: one branch ends, the other goes on",
			flow: `
nodes: {a: {kind: exec, command: [x], ends: {w: w, stop: END}}, w: {kind: pass}}
edges: [{from: w, to: END}]`,
			replies: replies{"a": once(after(0, map[string]any{"goto": []any{"stop", "w"}}))}, path: "a w",
		},
		{
			name: "writes and path follow the declaration order of the branches, not the finishing order",
			flow: `
state: {log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: [log]}
  c: {kind: exec, command: [x], writes: [log]}
  d: {kind: exec, command: [x], writes: [log]}
edges: [{from: a, to: [d, b, c]}, {from: [b, c, d], to: END}]`,
			replies: replies{"b": once(after(3, "b")), "c": once(after(1, "c")), "d": once(after(2, "d"))},
			path:    "a d b c", state: map[string]any{"log": []any{"d", "b", "c"}},
		},
		{
			name: "a join keeps the place of its branch among the others",
			flow: `
state: {log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  b: {kind: pass}
  b1: {kind: pass}
  b2: {kind: pass}
  j: {kind: set, join: {wait: all}, set: {log: "'first branch'"}}
  c: {kind: pass}
  c1: {kind: pass}
  c2: {kind: set, set: {log: "'second branch'"}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: [b1, b2]}
  - {from: [b1, b2], to: j}
  - {from: c, to: c1}
  - {from: c1, to: c2}
  - {from: [j, c2], to: END}`,
			path: "a b c b1 b2 c1 j c2", state: map[string]any{"log": []any{"first branch", "second branch"}},
		},
		{
			name: "a join has the place of the first declared of its branches, whichever came first",
			flow: `
state: {log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  b: {kind: pass}
  b2: {kind: pass}
  e: {kind: pass}
  e2: {kind: pass}
  e3: {kind: set, set: {log: "'e'"}}
  c: {kind: pass}
  j: {kind: set, join: {wait: all}, set: {log: "'j'"}}
edges:
  - {from: a, to: [b, e, c]}
  - {from: b, to: b2}
  - {from: [b2, c], to: j}
  - {from: e, to: e2}
  - {from: e2, to: e3}
  - {from: [e3, j], to: END}`,
			path: "a b e c b2 e2 j e3", state: map[string]any{"log": []any{"j", "e"}},
		},
		{
			name: "at most max_concurrency tasks run at once, and the rest in their order",
			flow: `
limits: {max_concurrency: 2}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, d: {kind: exec, command: [x]}, e: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c, d, e]}, {from: [b, c, d, e], to: END}]`,
			replies: replies{"b": once(after(4, 0)), "c": once(after(1, 0)), "d": once(after(1, 0)), "e": once(after(1, 0))},
			path:    "a b c d e", took: 4,
			check: func(t *testing.T, s *sim) {
				if s.most != 2 {
					t.Errorf("%d tasks ran at once", s.most)
				}
			},
		},
		{
			name: "several at once: one by one is as slow as the sum",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`,
			info:    machine.RunInfo{MaxConcurrency: 1},
			replies: replies{"b": once(after(2, 0)), "c": once(after(3, 0))}, path: "a b c", took: 5,
		},
		{
			name: "the step limit in the middle of a superstep: those that fit run, then it is the limit",
			flow: `
limits: {max_steps: 3}
state: {n: {type: integer, reducer: sum, default: 0}}
nodes: {a: {kind: pass}, b: {kind: set, set: {n: 1}}, c: {kind: set, set: {n: 10}}, d: {kind: set, set: {n: 100}}}
edges: [{from: a, to: [b, c, d]}, {from: [b, c, d], to: END}]`,
			path: "a b c", status: machine.Limit, reason: "max_steps", state: map[string]any{"n": 11}, says: "3 steps",
		},
		{
			name: "END on the last permitted step beside others completes",
			flow: `
limits: {max_steps: 3}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`,
			path: "a b c",
		},
		{
			name: "the output is that of the last in path order, whatever the finishing order",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`,
			replies: replies{"b": once(after(9, "b")), "c": once(after(1, "c"))}, path: "a b c", output: "c",
		},
		{
			name: "a stuck branch ends the run at once, wherever it happens",
			flow: `
parallel: {on_failure: continue_others}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: END, when: step > 50}, {from: c, to: END}]`,
			path: "a b c", status: machine.Stuck, at: "b",
		},
		{
			name: "an expression error in a branch ends the run at once",
			flow: `
parallel: {on_failure: continue_others}
state: {m: {type: object, default: {}}}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: END, when: m.n > 1}, {from: b, to: c}, {from: c, to: END}]`,
			path: "a b c", status: machine.Failed, reason: "expression", at: "b",
		},
		{
			name: "routers of one superstep are asked together",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, e: {kind: pass}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: d, condition: llm_decide}
  - {from: b, to: e, condition: llm_decide, fallback: true}
  - {from: c, to: d, condition: llm_decide}
  - {from: c, to: e, condition: llm_decide, fallback: true}
  - {from: [d, e], to: END}`,
			replies: replies{"router:b": once(reply{takes: 2e9, target: "e"}), "router:c": once(reply{takes: 1e9, target: "d"})},
			path:    "a b c e d", took: 2, quality: machine.Clean,
		},
	})
}

// Parked tasks (wait nodes, retry delays) hold no superstep open.
func TestParking(t *testing.T) {
	runAll(t, []simCase{
		{
			name: "the other branches go on while one waits; it joins the next superstep",
			flow: `
nodes: {a: {kind: pass}, w: {kind: wait, for: 5s}, c: {kind: pass}, c2: {kind: exec, command: [x]}, c3: {kind: pass}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [w, c]}, {from: c, to: c2}, {from: c2, to: c3}, {from: [w, c3], to: d}, {from: d, to: END}]`,
			replies: replies{"c2": once(after(1, nil))}, path: "a c c2 c3 w d", took: 5, quality: machine.Clean,
		},
		{
			name: "a wait that is over while a superstep is open ends in the next one",
			flow: `
nodes: {a: {kind: pass}, w: {kind: wait, for: 1s}, c: {kind: exec, command: [x]}, d: {kind: pass}}
edges: [{from: a, to: [w, c]}, {from: [w, c], to: d}, {from: d, to: END}]`,
			replies: replies{"c": once(after(3, nil))}, path: "a c w d d", took: 3,
		},
		{
			name: "the other branches go on during a retry delay",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 4s, jitter: 0}}
  c: {kind: pass}
  c2: {kind: pass}
  d: {kind: pass, join: {wait: all}}
edges: [{from: a, to: [b, c]}, {from: c, to: c2}, {from: [b, c2], to: d}, {from: d, to: END}]`,
			replies: replies{"b": once(fails(1), after(1, nil))}, path: "a c c2 b d", took: 6, quality: machine.Clean,
		},
		{
			name: "parked tasks that come back together are in the declaration order of their branches",
			flow: `
state: {log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  w1: {kind: wait, for: 3s}
  w2: {kind: wait, for: 2s}
  x: {kind: exec, command: [x], writes: [log]}
  s1: {kind: set, set: {log: "'one'"}}
  s2: {kind: set, set: {log: "'two'"}}
edges: [{from: a, to: [w1, w2, x]}, {from: w1, to: s1}, {from: w2, to: s2}, {from: [s1, s2, x], to: END}]`,
			replies: replies{"x": once(after(5, "x"))}, path: "a x w1 w2 s1 s2", state: map[string]any{"log": []any{"x", "one", "two"}},
		},
		{
			name: "a run of nothing but parked tasks waits, and takes its steps once",
			flow: `
nodes: {a: {kind: pass}, w: {kind: wait, for: 2s}, v: {kind: wait, for: 3s}}
edges: [{from: a, to: [w, v]}, {from: [w, v], to: END}]`,
			path: "a w v", took: 3,
			check: func(t *testing.T, s *sim) {
				if s.state.Steps != 3 {
					t.Errorf("%d steps", s.state.Steps)
				}
			},
		},
		{
			name: "a parked task in a branch that fail_all gives up is forgotten",
			flow: `
nodes: {a: {kind: pass}, w: {kind: wait, for: 1h}, c: {kind: exec, command: [x]}, c2: {kind: exec, command: [x]}, d: {kind: pass}}
edges: [{from: a, to: [w, c]}, {from: c, to: c2}, {from: [w, c2], to: d}, {from: d, to: END}]`,
			replies: replies{"c2": once(fails(1))}, path: "a c c2", status: machine.Failed, at: "c2", took: 1,
			check: func(t *testing.T, s *sim) {
				if s.state.Steps != 3 {
					t.Errorf("%d steps: an execution that never ended is counted", s.state.Steps)
				}
			},
		},
	})
}

package machine_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Corners of branches that a second reading of the language (internal/reference)
// saw otherwise than the machine did.
func TestCorners(t *testing.T) {
	runAll(t, []simCase{
		{
			name: "routing all starts its branches in the order of the file, whatever was tried first",
			flow: `
nodes: {a: {kind: pass, routing: all}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: b, when: step == 1, priority: -1}, {from: a, to: c, when: step < 9}, {from: [b, c], to: END}]`,
			path: "a b c",
		},
		{
			name: "a label that is repeated is one branch: it arrives once, and its input is plain",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x], ends: [w, v]}, w: {kind: set, set: {got: input.goto}}, v: {kind: pass}, j: {kind: pass, join: {wait: 3}}}
edges: [{from: [w, v], to: j}, {from: j, to: END}]`,
			replies: replies{"a": once(after(0, map[string]any{"goto": []any{"w", "w", "v"}}))},
			path:    "a w v", status: machine.Stuck, at: "j", says: "2 arrived", state: map[string]any{"got": []any{"w", "w", "v"}},
		},
		{
			name: "a visit that is refused cancels its siblings at once, too",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass, max_visits: 1}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: b}, {from: b, to: [b, c]}, {from: c, to: END}]`,
			replies: replies{"c": once(never())}, path: "a b", status: machine.Limit, reason: "max_visits",
		},
		{
			name: "and so does a failure of the machine's own node, declared before them",
			flow: `
nodes: {a: {kind: pass}, b: {kind: fail, message: no}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: c, to: END}]`,
			replies: replies{"c": once(never())}, path: "a b", status: machine.Failed, at: "b",
		},
		{
			name: "a task that is certain to lead to an any join cancels the rest although it leads elsewhere, too",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: exec, command: [x]}, e: {kind: pass}, j: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: b, to: [e, j]}, {from: c, to: j}, {from: [e, j], to: END}]`,
			replies: replies{"c": once(never())}, path: "a b e j",
		},
		{
			name: "and so does one that a failure edge is certain to lead there",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, j: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: b, to: j, condition: on_failure}, {from: [b, c], to: j}, {from: j, to: END}]`,
			replies: replies{"b": once(fails(1)), "c": once(never())}, path: "a b j", gone: "c", took: 1, quality: machine.Degraded,
		},
		{
			name: "of two N joins the one that nothing can satisfy is stuck, not the one that waits for it",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, n: {kind: pass, join: {wait: 3}}, m: {kind: pass, join: {wait: 2}}}
edges: [{from: a, to: [n, b]}, {from: b, to: m}, {from: m, to: n}, {from: n, to: END}]`,
			path: "a b", status: machine.Stuck, at: "m",
		},
		{
			name: "all branches failed, the last of them in a fan-out that was over: the run fails",
			flow: `
parallel: {on_failure: continue_others}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, e: {kind: pass}, g: {kind: pass}, x: {kind: exec, command: [x]}, y: {kind: exec, command: [x]}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: [d, e]}
  - {from: c, to: g}
  - {from: [d, g], to: x}
  - {from: e, to: y}
  - {from: [x, y], to: END}`,
			replies: replies{"x": once(fails(1)), "y": once(fails(2))}, path: "a b c d e g x y", status: machine.Failed, at: "x",
		},
		{
			name: "of two nodes with an each on one branch the first whose element comes back goes on first",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
  d: {kind: pass}
  e: {kind: pass}
  f: {kind: pass}
  g: {kind: pass}
  h: {kind: pass}
  i: {kind: pass}
  j: {kind: pass}
  m: {kind: exec, command: [x], each: '[1]', retry: {max_attempts: 2, initial_interval: 3s, jitter: 0}}
  n: {kind: exec, command: [x], each: '[1]', retry: {max_attempts: 2, initial_interval: 2s, jitter: 0}}
  z: {kind: exec, command: [x]}
edges:
  - {from: a, to: [b, c, d, e]}
  - {from: b, to: [f, g]}
  - {from: c, to: h}
  - {from: d, to: i}
  - {from: e, to: j}
  - {from: [f, h], to: m}
  - {from: [g, i], to: n}
  - {from: j, to: z}
  - {from: [m, n, z], to: END}`,
			replies: replies{"m": once(fails(0), after(1, nil)), "n": once(fails(0), after(1, nil)), "z": once(after(5, nil))},
			path:    "a b c d e f g h i j z n m", took: 6,
		},
		{
			name: "a fan-out that fails whole cancels its siblings before their edges lead anywhere",
			flow: `
nodes:
  a: {kind: pass, parallel: {on_failure: continue_others}}
  f: {kind: pass}
  z: {kind: exec, command: [x]}
  b: {kind: pass, parallel: {on_failure: continue_others}}
  c: {kind: pass}
  x: {kind: fail, message: no}
  y: {kind: fail, message: no}
  e: {kind: exec, command: [x]}
edges:
  - {from: a, to: [f, z]}
  - {from: f, to: [b, c]}
  - {from: b, to: [x, y]}
  - {from: c, to: e}
  - {from: [z, e], to: END}`,
			replies: replies{"z": once(after(0, "z")), "e": once(after(0, "e"))},
			path:    "a f z b c x y e", output: "z", quality: machine.Degraded,
		},
		{
			name: "a visit that is skipped does not stand for the one before, whose elements are still at work",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  x: {kind: exec, command: [x], each: '[1, 2]', max_visits: 1, on_max_visits: skip, retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}}
edges: [{from: a, to: [b, x]}, {from: b, to: x}, {from: x, to: END}]`,
			replies: replies{"b": once(after(2, nil)), "x": once(fails(0), fails(0), after(1, nil))}, path: "a b x x", took: 3,
		},
		{
			name: "what begins anew where the branches began is no bypass of their join",
			flow: `
nodes: {a: {kind: exec, command: [x]}, b: {kind: pass}, c: {kind: wait, for: 9s}, d: {kind: pass}, j: {kind: pass, join: {wait: all}}, k: {kind: pass}}
edges:
  - {from: a, to: [b, c]}
  - {from: a, to: k, condition: on_failure}
  - {from: b, to: a, when: visits.b < 2}
  - {from: b, to: END}
  - {from: c, to: d}
  - {from: d, to: j}
  - {from: [j, k], to: END}`,
			replies: replies{"a": once(after(0, nil), fails(1))}, path: "a b a k c d j", quality: machine.Degraded,
		},
		{
			name: "each under wait_all gives the errors of all elements when all failed",
			flow: `
state: {n: {type: integer}}
nodes: {a: {kind: exec, command: [x], each: "[1, 2]", parallel: {on_failure: wait_all}, writes: {n: "len(filter(output, .error.kind == 'failed'))"}}}
edges: [{from: a, to: END}]`,
			replies: replies{"a": once(fails(1))}, path: "a", quality: machine.Degraded, state: map[string]any{"n": 2},
		},
		{
			name: "of two writers the one that was answered first has finished first, although it waited for the superstep",
			flow: `
state: {who: {}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, s: {kind: set, set: {who: "'set'"}}, h: {kind: human, prompt: x, writes: [who]}}
edges: [{from: a, to: [b, h]}, {from: b, to: s}, {from: [s, h], to: END}]`,
			replies: replies{"b": once(after(5, nil))}, answers: map[string]reply{"h": after(1, "answer")},
			path: "a b s h", state: map[string]any{"who": "set"},
		},
		{
			name: "under wait_all a fan-out that failed whole comes to its join like a branch: the join waits for the others, and runs once",
			flow: `
parallel: {on_failure: wait_all}
state: {told: {}, got: {}}
nodes:
  a: {kind: pass}
  i: {kind: pass}
  b: {kind: exec, command: [x]}
  c: {kind: set, set: {got: "'c'"}}
  x: {kind: exec, command: [x]}
  y: {kind: exec, command: [x]}
  j: {kind: set, set: {told: "[keys(branches), branches.y.error.kind]", got: input.got}, join: {wait: all}}
edges:
  - {from: a, to: [i, b]}
  - {from: i, to: [x, y]}
  - {from: b, to: c}
  - {from: [x, y, c], to: j}
  - {from: j, to: END}`,
			replies: replies{"x": once(fails(1)), "y": once(fails(1)), "b": once(after(1, nil))},
			path:    "a i b x y c j", quality: machine.Degraded,
			state: map[string]any{"told": []any{[]any{"c", "x", "y"}, "failed"}, "got": "c"},
		},
		{
			name: "of two failures of one node a join is told the last, wherever its branch is",
			flow: `
parallel: {on_failure: wait_all}
state: {told: {}}
nodes:
  a: {kind: pass}
  b: {kind: pass}
  i: {kind: pass}
  w: {kind: wait, for: 2s}
  e: {kind: wait, for: 9s}
  x: {kind: exec, command: [x]}
  j: {kind: set, set: {told: branches.x.error.kind}, join: {wait: all}}
edges:
  - {from: a, to: [b, i]}
  - {from: i, to: [w, e]}
  - {from: [b, w], to: x}
  - {from: [x, e], to: j}
  - {from: j, to: END}`,
			replies: replies{"x": once(fails(1), kindOf("tool", fails(1)))},
			path:    "a b i x w x e j", state: map[string]any{"told": "tool"},
		},
		{
			name: "tasks that stand on one branch go on in the order in which their waiting ended",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
  m: {kind: wait, for: 2s}
  k: {kind: wait, for: 1s}
  z: {kind: exec, command: [x]}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: [m, k, z]}
  - {from: c, to: [m, k]}
  - {from: [m, k, z], to: END}`,
			replies: replies{"z": once(after(5, nil))}, path: "a b c z k m",
		},
		{
			name: "a branch that lost the race to a join while its superstep was open has not failed",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: pass, parallel: {on_failure: continue_others}}
  s: {kind: pass}
  c: {kind: exec, command: [x]}
  d: {kind: exec, command: [x]}
  e: {kind: wait, for: 9s}
  f: {kind: fail, message: no}
  j: {kind: pass, join: {wait: any}}
  k: {kind: wait, for: 99s}
edges:
  - {from: a, to: [b, s]}
  - {from: s, to: c}
  - {from: b, to: [d, e]}
  - {from: [c, d], to: j}
  - {from: e, to: f}
  - {from: j, to: k}
  - {from: k, to: END}`,
			replies: replies{"c": once(after(5, nil)), "d": once(never())},
			path:    "a b s c j e f k", gone: "d", quality: machine.Degraded,
		},
	})
}

// kindOf is a reply that fails with another kind.
func kindOf(kind string, r reply) reply {
	r.failure = &machine.Failure{Kind: kind, Message: "no"}
	return r
}

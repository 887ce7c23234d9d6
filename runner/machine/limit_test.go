package machine_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// Limits of branches' time where several meet, or time stands still.
func TestBranchTimes(t *testing.T) {
	runAll(t, []simCase{
		{
			name: "a branch in a branch whose time ends at once with that of the outer is none of its own",
			flow: `
parallel: {branch_timeout: 3s}
nodes: {a: {kind: pass}, b: {kind: pass}, z: {kind: pass}, x: {kind: exec, command: [x]}, h: {kind: human, prompt: "?"}}
edges: [{from: a, to: [b, z]}, {from: b, to: [x, h]}, {from: [x, h, z], to: END}]`,
			replies: replies{"x": once(never())}, answers: map[string]reply{"h": nobody()},
			path: "a b z", took: 3, gone: "x", status: machine.Failed, kind: "timeout", at: "x",
		},
		{
			name: "of two branches whose time ends at once the one declared first fails the run",
			flow: `
parallel: {branch_timeout: 3s}
nodes: {a: {kind: pass}, w: {kind: wait, for: 1s}, x: {kind: exec, command: [x]}}
edges: [{from: a, to: [w, x]}, {from: [w, x], to: END}]`,
			replies: replies{"x": once(never())}, path: "a", took: 3, gone: "x", status: machine.Failed, kind: "timeout", at: "w",
		},
		{
			name: "a branch whose time was over while it waited at a join has no limit any more, whoever is asked",
			flow: `
parallel: {branch_timeout: 2s, on_failure: continue_others}
nodes: {a: {kind: pass}, j: {kind: human, prompt: "?", join: {wait: all}}, x: {kind: exec, command: [x]}, k: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [j, x, k]}, {from: [x], to: j}, {from: j, to: k}, {from: k, to: END}]`,
			replies: replies{"x": once(never())}, answers: map[string]reply{"j": after(9, "yes")},
			path: "a j k", took: 11, gone: "x", quality: machine.Degraded,
		},
		{
			name: "while only people are waited for, the time of a branch at a join stands still, too",
			flow: `
parallel: {branch_timeout: 5s}
nodes: {a: {kind: pass}, j: {kind: exec, command: [x], join: {wait: all}}, h: {kind: human, prompt: "?"}, k: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [j, h, k]}, {from: h, to: j}, {from: j, to: k}, {from: k, to: END}]`,
			replies: replies{"j": once(never())}, answers: map[string]reply{"h": after(9, "yes")},
			path: "a h", took: 14, gone: "j", status: machine.Failed, kind: "timeout", at: "j",
		},
		{
			name: "the time of the run stands still as well",
			flow: `
limits: {timeout: 5s}
nodes: {a: {kind: human, prompt: "?"}, b: {kind: exec, command: [x]}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			replies: replies{"b": once(never())}, answers: map[string]reply{"a": after(9, "yes")},
			path: "a", took: 14, gone: "b", status: machine.Limit, reason: "timeout",
		},
		{
			name: "a branch that is out of time bypasses no join of its fan-out, whatever had left in it",
			flow: `
parallel: {on_failure: wait_all}
nodes:
  a: {kind: pass, parallel: {branch_timeout: 5s}}
  b: {kind: pass}
  x: {kind: exec, command: [x]}
  y: {kind: pass}
  r: {kind: exec, command: [x]}
  s: {kind: exec, command: [x]}
  j: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [b, j]}
  - {from: b, to: [x, y]}
  - {from: x, to: j}
  - {from: x, to: r, condition: on_failure}
  - {from: y, to: s}
  - {from: [r, s, j], to: END}`,
			replies: replies{"x": once(fails(1)), "r": once(never()), "s": once(never())},
			path:    "a b x y j", took: 5, gone: "r s", quality: machine.Degraded,
		},
		{
			name: "a join hears of every branch that is lost in one superstep, out of time or failed",
			flow: `
state: {seen: {}}
parallel: {branch_timeout: 3s, on_failure: wait_all}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  c: {kind: exec, command: [x]}
  d: {kind: exec, command: [x]}
  j: {kind: set, set: {seen: "join(map(keys(branches), # + ':' + branches[#].error.kind), ' ')"}, join: {wait: all}}
edges: [{from: a, to: [b, c, d]}, {from: [b, c, d], to: j}, {from: j, to: END}]`,
			replies: replies{"b": once(fails(1)), "c": once(never()), "d": once(never())},
			path:    "a b j", took: 3, gone: "c d", quality: machine.Degraded, state: map[string]any{"seen": "b:failed c:timeout d:timeout"},
		},
	})
}

// A node that fails as it is entered cancels its siblings when all have been entered:
// each has a step of its own number.
func TestStepsOfWhoIsCancelledAtOnce(t *testing.T) {
	runAll(t, []simCase{{
		name: "by a failure", flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: fail, message: no}, d: {kind: pass}}
edges: [{from: a, to: [b, c, d]}, {from: b, to: END}, {from: d, to: END, when: step == 4}]`,
		path: "a c d", status: machine.Failed, at: "c",
	}})
}

// An execution that waits when the run ends is no step, also one whose moment had come.
func TestStepsOfWhatWaitsAtTheEnd(t *testing.T) {
	runAll(t, []simCase{{
		name: "finally", flow: `
finally: f
nodes: {a: {kind: pass}, w: {kind: wait, for: 1s}, x: {kind: exec, command: [x]}, n: {kind: pass, join: {wait: 3}}, f: {kind: pass}}
edges: [{from: a, to: [w, x]}, {from: w, to: END}, {from: x, to: n}, {from: n, to: END}]`,
		replies: replies{"x": once(after(2, nil))}, path: "a x", status: machine.Stuck, at: "n",
		check: func(t *testing.T, s *sim) {
			if got := s.state.StepsEnded(); got != 2 {
				t.Errorf("%d steps, want those of a and x", got)
			}
		},
	}})
}

package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// pair is a fan-out of two tasks, the second of which goes one node further.
func pair(top, wait string) string {
	return top + `
state: {log: {type: array, reducer: append, default: []}, seen: {}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: [log]}
  c: {kind: exec, command: [x], writes: [log]}
  c2: {kind: exec, command: [x], writes: [log]}
  j: {kind: set, join: {wait: ` + wait + `}, set: {seen: branches}}
edges: [{from: a, to: [b, c]}, {from: c, to: c2}, {from: [b, c2], to: j}, {from: j, to: END}]`
}

const (
	goOn    = "parallel: {on_failure: continue_others}\n"
	waitAll = "parallel: {on_failure: wait_all}\n"
)

func brokeBy(node, kind, message string) map[string]any {
	return map[string]any{"output": nil, "error": map[string]any{
		"kind": kind, "message": message, "node": node, "attempt": 1, "details": map[string]any{},
	}}
}

// Failure policies (GraphSpec §6, §7).
func TestFailurePolicies(t *testing.T) {
	// the node's own policy beats the graph's
	own := func(flow, block string) string {
		return strings.Replace(flow, "a: {kind: pass}", "a: {kind: pass, parallel: {"+block+"}}", 1)
	}
	runAll(t, []simCase{
		{
			name: "fail_all is the default: the siblings are cancelled at once, the run fails", flow: pair("", "all"),
			replies: replies{"b": once(fails(1)), "c": once(never())}, path: "a b", gone: "c", took: 1,
			status: machine.Failed, reason: "node_failed", kind: "failed", at: "b", quality: machine.FailedQuality,
			state: map[string]any{"log": []any{}},
		},
		{
			name: "fail_all keeps the writes of the tasks that succeeded", flow: pair("", "all"),
			replies: replies{"b": once(fails(2)), "c": once(after(1, "c"))}, path: "a b c",
			status: machine.Failed, at: "b", state: map[string]any{"log": []any{"c"}},
		},
		{
			name: "fail_all in a later superstep", flow: pair("", "all"),
			replies: replies{"b": once(after(1, "b")), "c": once(after(1, "c")), "c2": once(fails(1))}, path: "a b c c2",
			status: machine.Failed, at: "c2", state: map[string]any{"log": []any{"b", "c"}},
		},
		{
			name: "continue_others drops the failed branch, degraded", flow: pair(goOn, "all"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "c2": once(after(1, "c2"))}, path: "a b c c2 j",
			quality: machine.Degraded, took: 3,
			state: map[string]any{"log": []any{"c", "c2"}},
		},
		{
			name: "wait_all lets every branch end and gives the join results and errors", flow: pair(waitAll, "all"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "c2": once(after(1, "c2"))}, path: "a b c c2 j",
			quality: machine.Degraded,
			state: map[string]any{
				"log": []any{"c", "c2"}, "seen": map[string]any{"b": brokeBy("b", "failed", "no"), "c2": came("c2")},
			},
		},
		{
			name: "wait_all runs the join even when every branch fails", flow: pair(waitAll, "all"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "c2": once(fails(1))}, path: "a b c c2 j",
			quality: machine.Degraded,
			state: map[string]any{
				"seen": map[string]any{"b": brokeBy("b", "failed", "no"), "c2": brokeBy("c2", "failed", "no")},
			},
		},
		{
			name: "wait_all runs the join once, when the last branch has ended, also one that can't come to it any more",
			flow: waitAll + `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, f: {kind: fail, message: no}, j: {kind: pass, join: {wait: all}}, g: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: b, to: j}, {from: c, to: f, when: visits.c < 9}, {from: c, to: j}, {from: j, to: g}, {from: g, to: END}]`,
			replies: replies{"g": once(fails(1))}, path: "a b c f j g", status: machine.Failed, at: "g",
		},
		{
			name: "wait_all gives an error to the join of its own fan-out, not to one inside",
			flow: waitAll + `
state: {log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  n: {kind: pass}
  n1: {kind: pass}
  n2: {kind: pass}
  nj: {kind: set, join: {wait: all}, set: {log: "[keys(branches)]"}}
  d: {kind: set, join: {wait: all}, set: {log: "[keys(branches)]"}}
edges: [{from: a, to: [b, n]}, {from: n, to: [n1, n2]}, {from: [n1, n2], to: nj}, {from: [b, nj], to: d}, {from: d, to: END}]`,
			replies: replies{"b": once(fails(1))}, path: "a b n n1 n2 nj d", quality: machine.Degraded,
			state: map[string]any{"log": []any{[]any{"n1", "n2"}, []any{"b", "nj"}}},
		},
		{
			name: "and the error of the join inside, too",
			flow: waitAll + `
state: {log: {}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  n: {kind: pass}
  n1: {kind: pass}
  n2: {kind: pass}
  nj: {kind: exec, join: {wait: all}, command: [x]}
  d: {kind: set, join: {wait: all}, set: {log: "keys(branches)"}}
edges: [{from: a, to: [b, n]}, {from: n, to: [n1, n2]}, {from: [n1, n2], to: nj}, {from: [b, nj], to: d}, {from: d, to: END}]`,
			replies: replies{"b": once(fails(1)), "nj": once(fails(1))}, path: "a b n n1 n2 nj d", quality: machine.Degraded,
			state: map[string]any{"log": []any{"b", "nj"}},
		},
		{
			name: "continue_others fails when every branch has failed", flow: pair(goOn, "all"),
			replies: replies{"b": once(fails(2)), "c": once(fails(1))}, path: "a b c", status: machine.Failed, kind: "failed",
			quality: machine.FailedQuality,
		},
		{
			name: "the node's own policy beats the graph's", flow: own(pair(goOn, "all"), "on_failure: fail_all"),
			replies: replies{"b": once(fails(1)), "c": once(never())}, path: "a b", gone: "c", status: machine.Failed,
		},
		{
			name: "and the other way round", flow: own(pair("", "all"), "on_failure: wait_all"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "c2": once(after(0, "c2"))}, path: "a b c c2 j", quality: machine.Degraded,
		},
		{
			name:    "a failure that an edge takes is no failure of the branch",
			flow:    strings.Replace(pair("", "all"), "edges: [", "edges: [{from: b, to: j, condition: on_failure}, ", 1),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "c2": once(after(1, "c2"))},
			path:    "a b c c2 j", quality: machine.Degraded, state: map[string]any{"log": []any{"c", "c2"}},
		},
		{
			name:    "a retry comes before the policy",
			flow:    strings.Replace(pair("", "all"), "b: {kind: exec, command: [x]", "b: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}", 1),
			replies: replies{"b": once(fails(1), after(1, "b")), "c": once(after(9, "c")), "c2": once(after(1, "c2"))},
			path:    "a c b c2 j", quality: machine.Clean, took: 10,
		},
		{
			name:    "an attempt that times out is a failure of its branch",
			flow:    strings.Replace(pair(goOn, "all"), "b: {kind: exec, command: [x]", "b: {kind: exec, command: [x], timeout: 2s", 1),
			replies: replies{"b": once(never()), "c": once(after(1, "c")), "c2": once(after(1, "c2"))},
			path:    "a b c c2 j", gone: "b", took: 3, quality: machine.Degraded,
		},
		{
			name: "a failing fail node ends its branch only",
			flow: `
parallel: {on_failure: continue_others}
nodes: {a: {kind: pass}, b: {kind: fail, message: broken}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: c, to: END}]`,
			path: "a b c", quality: machine.Degraded,
		},
		{
			name: "max_visits of a branch is the branch's failure",
			flow: `
parallel: {on_failure: continue_others}
nodes: {a: {kind: pass}, b: {kind: pass, max_visits: 2}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b, when: step < 50}, {from: [b, c], to: END}]`,
			path: "a b c b", quality: machine.Degraded,
		},
		{
			name: "and the run's, as a limit, when it propagates",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass, max_visits: 2}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b, when: step < 50}, {from: [b, c], to: END}]`,
			path: "a b c b", status: machine.Limit, reason: "max_visits", kind: "max_visits",
		},
		{
			name: "a branch that reached END makes up for the others that fail",
			flow: goOn + `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: b, to: END}, {from: c, to: END}]`,
			replies: replies{"c": once(fails(1))}, path: "a b c", quality: machine.Degraded,
		},
		{
			name: "after a join of all that are left the fan-out is over: what fails there fails the run",
			flow: goOn + `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, j: {kind: pass, join: {wait: all}}, k: {kind: fail, message: no}}
edges: [{from: a, to: [b, c, d]}, {from: b, to: END}, {from: [c, d], to: j}, {from: j, to: k}]`,
			path: "a b c d j k", status: machine.Failed, at: "k",
		},
		{
			name: "and so it is after branches that met without a join",
			flow: goOn + `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, k: {kind: fail, message: no}}
edges: [{from: a, to: [b, c, d]}, {from: b, to: END}, {from: [c, d], to: k}]`,
			path: "a b c d k", status: machine.Failed, at: "k",
		},
		{
			name: "branches that lost a race have not failed",
			flow: `
nodes:
  a: {kind: pass}
  b: {kind: pass, parallel: {on_failure: continue_others}}
  b1: {kind: pass}
  b2: {kind: exec, command: [x]}
  c: {kind: pass}
  j: {kind: pass, join: {wait: any}}
edges: [{from: a, to: [b, c]}, {from: b, to: [b1, b2]}, {from: [b1, c], to: j}, {from: b2, to: END}, {from: j, to: END}]`,
			replies: replies{"b2": once(fails(1))}, path: "a b c b2 j", quality: machine.Degraded,
		},
		{
			name: "a loop of failure edges between nodes without visits left ends at the step limit",
			flow: `
limits: {max_steps: 9}
nodes: {a: {kind: pass, max_visits: 1}, b: {kind: pass, max_visits: 1}}
edges: [{from: a, to: b}, {from: a, to: b, condition: on_failure}, {from: b, to: a, when: step < 50}, {from: b, to: END}, {from: b, to: a, condition: on_failure}]`,
			path: "a b", status: machine.Limit, reason: "max_steps",
		},
		{
			name: "a write that does not fit fails its branch alone",
			flow: goOn + `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x], writes: [n]}, c: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`,
			replies: replies{"b": once(after(1, "text"))}, path: "a b c", quality: machine.Degraded, state: map[string]any{"n": 0},
		},
	})
}

// A failure goes out through the fan-outs around it as far as a policy stops it.
func TestNestedFailures(t *testing.T) {
	nest := func(outer, inner string) string {
		return `
state: {seen: {}}
nodes:
  a: {kind: pass, parallel: {on_failure: ` + outer + `}}
  p: {kind: pass, parallel: {on_failure: ` + inner + `}}
  p1: {kind: exec, command: [x]}
  p2: {kind: exec, command: [x]}
  i: {kind: pass, join: {wait: all}}
  q: {kind: pass}
  q2: {kind: exec, command: [x]}
  o: {kind: set, join: {wait: all}, set: {seen: branches}}
edges: [{from: a, to: [p, q]}, {from: p, to: [p1, p2]}, {from: q, to: q2}, {from: [p1, p2], to: i}, {from: [i, q2], to: o}, {from: o, to: END}]`
	}
	first := replies{"p1": once(fails(1)), "p2": once(after(3, nil)), "q2": once(after(5, nil))}
	runAll(t, []simCase{
		{
			name: "fail_all in fail_all fails the run", flow: nest("fail_all", "fail_all"), replies: first,
			path: "a p q p1", gone: "p2 q2", status: machine.Failed, at: "p1", took: 1,
		},
		{
			name: "fail_all fails the enclosing branch, which continue_others drops", flow: nest("continue_others", "fail_all"), replies: first,
			path: "a p q p1 q2 o", gone: "p2", quality: machine.Degraded, took: 5,
		},
		{
			name: "continue_others inside leaves the outer alone", flow: nest("fail_all", "continue_others"), replies: first,
			path: "a p q p1 p2 q2 i o", quality: machine.Degraded, took: 5,
		},
		{
			name: "an inner fan-out that failed whole fails the outer", flow: nest("fail_all", "continue_others"),
			replies: replies{"p1": once(fails(1)), "p2": once(fails(2)), "q2": once(after(5, nil))},
			path:    "a p q p1 p2 q2", status: machine.Failed,
		},
		{
			name: "wait_all around fail_all gives the join the failure of the inner branch", flow: nest("wait_all", "fail_all"), replies: first,
			path: "a p q p1 q2 o", gone: "p2", quality: machine.Degraded,
			state: map[string]any{"seen": map[string]any{"p1": brokeBy("p1", "failed", "no"), "q2": came(nil)}},
		},
		{
			name: "a fan-out that failed whole has failed with its first declared branch, whichever was last", flow: nest("wait_all", "continue_others"),
			replies: replies{"p1": once(fails(2)), "p2": once(fails(1)), "q2": once(after(5, nil))},
			path:    "a p q p1 p2 q2 o", state: map[string]any{"seen": map[string]any{"p1": brokeBy("p1", "failed", "no"), "q2": came(nil)}},
		},
		{
			name: "and the other way round", flow: nest("wait_all", "continue_others"),
			replies: replies{"p1": once(fails(1)), "p2": once(fails(2)), "q2": once(after(5, nil))},
			path:    "a p q p1 p2 q2 o", state: map[string]any{"seen": map[string]any{"p1": brokeBy("p1", "failed", "no"), "q2": came(nil)}},
		},
		{
			name: "wait_all inside wait_all", flow: nest("wait_all", "wait_all"),
			replies: replies{"p1": once(fails(1)), "p2": once(fails(2)), "q2": once(fails(3))},
			path:    "a p q p1 p2 q2 i o", quality: machine.Degraded,
		},
	})
}

// branch_timeout is a failure of kind timeout of the branch that is too slow.
func TestBranchTimeout(t *testing.T) {
	runAll(t, []simCase{
		{
			name: "of a running task", flow: pair("parallel: {branch_timeout: 3s, on_failure: continue_others}\n", "all"),
			replies: replies{"b": once(never()), "c": once(after(1, "c")), "c2": once(after(1, "c2"))},
			path:    "a c c2 j", gone: "b", took: 4, quality: machine.Degraded,
		},
		{
			name: "a branch that another one held up has its time once more", gone: "b c2", took: 6,
			flow:    pair("parallel: {branch_timeout: 3s, on_failure: continue_others}\n", "all"),
			replies: replies{"b": once(never()), "c": once(after(1, "c")), "c2": once(never())},
			path:    "a c", status: machine.Failed, kind: "timeout", at: "b",
		},
		{
			name: "a branch that waits at the join is through", flow: pair("parallel: {branch_timeout: 3s, on_failure: wait_all}\n", "all"),
			replies: replies{"b": once(after(1, "b")), "c": once(after(2, "c")), "c2": once(after(2, "c2"))},
			path:    "a b c j", gone: "c2", took: 3, quality: machine.Degraded,
			check: func(t *testing.T, s *sim) {
				seen := s.state.Values()["seen"].(map[string]any)
				if seen["b"].(map[string]any)["output"] != "b" {
					t.Errorf("branches of the join: %v", seen)
				}
				late, _ := seen["c2"].(map[string]any)["error"].(map[string]any)
				if late["kind"] != "timeout" || !strings.Contains(late["message"].(string), "branch_timeout of 3s") {
					t.Errorf("the error of the slow branch is %v", late)
				}
			},
		},
		{
			name: "with fail_all it fails the run", flow: pair("parallel: {branch_timeout: 3s}\n", "all"),
			replies: replies{"b": once(never()), "c": once(after(1, "c"))},
			path:    "a c", gone: "b", took: 3, status: machine.Failed, kind: "timeout", says: "branch_timeout",
		},
		{
			name: "of a parked task, when nothing else is going on",
			flow: `
parallel: {branch_timeout: 3s, on_failure: continue_others}
nodes: {a: {kind: pass}, w: {kind: wait, for: 1h}, b: {kind: pass}}
edges: [{from: a, to: [w, b]}, {from: [w, b], to: END}]`,
			path: "a b", took: 3, quality: machine.Degraded,
		},
		{
			name: "a node's own branch_timeout", took: 3, gone: "b",
			flow:    strings.Replace(pair(goOn, "all"), "a: {kind: pass}", "a: {kind: pass, parallel: {branch_timeout: 3s}}", 1),
			replies: replies{"b": once(never()), "c": once(after(1, "c")), "c2": once(after(0, "c2"))},
			path:    "a c c2 j", quality: machine.Degraded,
		},
		{
			name: "a branch that is through has no time limit any more", flow: pair("parallel: {branch_timeout: 3s}\n", "all"),
			replies: replies{"b": once(after(1, "b")), "c": once(after(1, "c")), "c2": once(after(1, "c2"))}, path: "a b c c2 j", quality: machine.Clean, took: 2,
		},
	})
}

package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

func TestLimits(t *testing.T) {
	loop := `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: "n + 1"}}}
edges: [{from: a, to: a, when: "n < 7"}, {from: a, to: END}]`
	cases := []walkCase{
		{name: "END is no step", flow: loop, path: "a a a a a a a", steps: 7, state: map[string]any{"n": 7}},
		{
			name: "reaching END on the last permitted step is a completion", flow: "limits: {max_steps: 7}\n" + loop,
			path: "a a a a a a a", quality: machine.Clean,
		},
		{
			name: "fail keeps path and state", flow: "limits: {max_steps: 4}\n" + loop, path: "a a a a", steps: 4,
			status: machine.Limit, reason: "max_steps", quality: machine.FailedQuality, state: map[string]any{"n": 4}, says: "4 steps",
		},
		{
			name: "return_last completes, degraded", flow: "limits: {max_steps: 4, on_max_steps: return_last}\n" + loop,
			path: "a a a a", reason: "max_steps", quality: machine.Degraded, output: map[string]any{"n": 4},
			check: func(t *testing.T, w *walker) {
				if w.state.Limited {
					t.Error("limited is set")
				}
			},
		},
		{
			name: "flag completes, degraded and limited", flow: "limits: {max_steps: 4, on_max_steps: flag}\n" + loop,
			path: "a a a a", reason: "max_steps", quality: machine.Degraded, output: map[string]any{"n": 4},
			check: func(t *testing.T, w *walker) {
				if !w.state.Limited {
					t.Error("limited is not set")
				}
			},
		},
		{name: "a run may have its own step limit", flow: loop, info: machine.RunInfo{MaxSteps: 2}, path: "a a", status: machine.Limit},
		{
			name: "routing comes before the limit: stuck on the last step is stuck",
			flow: "limits: {max_steps: 1}\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END, when: 'step > 1'}]",
			path: "a", status: machine.Stuck,
		},
		{
			name:   "a retry is no step",
			flow:   "limits: {max_steps: 1}\nnodes: {a: {kind: exec, command: [x], retry: {max_attempts: 3}}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(bad("tool"), bad("tool"), ok(nil))}, path: "a", steps: 1, quality: machine.Clean,
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestVisits(t *testing.T) {
	cases := []walkCase{
		{
			name: "max_visits fails the node, and the run as limit",
			flow: "nodes: {a: {kind: pass, max_visits: 2}}\nedges: [{from: a, to: a, when: 'step < 50'}, {from: a, to: END}]",
			path: "a a", steps: 2, status: machine.Limit, reason: "max_visits", kind: "max_visits", says: "2 times",
		},
		{
			name: "a failure edge catches it",
			flow: "nodes: {a: {kind: pass, max_visits: 2}, b: {kind: pass}}\nedges: [{from: a, to: a, when: 'step < 50'}, {from: a, to: END}, {from: a, to: b, condition: on_failure, when: \"error.kind == 'max_visits'\"}, {from: b, to: END}]",
			path: "a a b", quality: machine.Degraded,
		},
		{
			name: "skip does not run the node and tries only unconditional edges",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: "n + 1"}, max_visits: 2, on_max_visits: skip}, b: {kind: pass}}
edges: [{from: a, to: a, when: "step < 50"}, {from: a, to: b}, {from: b, to: END}]`,
			path: "a a a b", steps: 4, state: map[string]any{"n": 2}, quality: machine.Clean,
		},
		{
			name: "skip without an unconditional edge is stuck",
			flow: "nodes: {a: {kind: pass, max_visits: 2, on_max_visits: skip}}\nedges: [{from: a, to: a, when: 'step < 50'}, {from: a, to: END, when: 'step > 50'}]",
			path: "a a a", status: machine.Stuck, says: "skipped",
		},
		{
			name: "a skip counts towards max_steps, not towards visits",
			flow: `
limits: {max_steps: 5}
state: {v: {}}
nodes: {a: {kind: pass, max_visits: 1, on_max_visits: skip}, b: {kind: set, set: {v: "visits.a"}}}
edges: [{from: a, to: b}, {from: b, to: a, when: "step < 50"}, {from: b, to: END}]`,
			path: "a b a b a", status: machine.Limit, state: map[string]any{"v": 1},
		},
		{
			name: "limits.max_visits holds for every node",
			flow: "limits: {max_visits: 3}\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: a, when: 'step < 50'}, {from: a, to: END}]",
			path: "a a a", status: machine.Limit,
		},
		{
			name: "at routing, visits and history include the visit just finished",
			flow: `
nodes: {a: {kind: exec, command: [x]}}
edges: [{from: a, to: a, when: "visits.a < 3 and len(history.a) == visits.a and history.a[0] == 1"}, {from: a, to: END}]`,
			script: script{"a": each(ok(1), ok(2), ok(3))}, path: "a a a",
		},
		{
			name: "a revisit's output is cleared before it runs: a failed one leaves none",
			flow: `
state: {seen: {}}
nodes:
  a: {kind: exec, command: [x], retry: {max_attempts: 1}}
  b: {kind: pass}
  c: {kind: set, set: {seen: "nodes.a.output"}}
edges:
  - {from: a, to: b, when: "output.ok"}
  - {from: a, to: c, condition: on_failure}
  - {from: b, to: a}
  - {from: c, to: END}`,
			script: script{"a": each(ok(map[string]any{"ok": true}), bad("tool"))}, path: "a b a c",
			state: map[string]any{"seen": nil},
		},
		{
			name: "earlier writes stay visible through a failed revisit",
			flow: `
state: {got: {type: integer}}
nodes: {a: {kind: exec, command: [x], writes: [got], retry: {max_attempts: 1}}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: b}, {from: a, to: c, condition: on_failure}, {from: b, to: a}, {from: c, to: END}]`,
			script: script{"a": each(ok(5), bad("tool"))}, path: "a b a c", state: map[string]any{"got": 5},
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestRetries(t *testing.T) {
	flow := func(retry string) string {
		return "nodes: {a: {kind: exec, command: [x]" + retry + "}}\nedges: [{from: a, to: END}]"
	}
	http := "nodes: {a: {kind: http, url: 'http://x'}}\nedges: [{from: a, to: END}]"
	server := func(status int) answer {
		return badWith(machine.Failure{Kind: "http_status", Details: map[string]any{"status": status}})
	}
	times := func(n int) map[string]int { return map[string]int{"a": n} }
	failed := machine.Failed
	cases := []walkCase{
		{name: "one attempt without a block", flow: flow(""), script: script{"a": each(bad("exit_status"))}, path: "a", status: failed, calls: times(1)},
		{name: "rate limits get three", flow: http, script: script{"a": each(bad("rate_limited"))}, path: "a", status: failed, calls: times(3)},
		{name: "network errors get three", flow: http, script: script{"a": each(bad("network"))}, path: "a", status: failed, calls: times(3)},
		{name: "overload gets three", flow: http, script: script{"a": each(bad("overloaded"))}, path: "a", status: failed, calls: times(3)},
		{name: "5xx gets three", flow: http, script: script{"a": each(server(503))}, path: "a", status: failed, calls: times(3)},
		{name: "4xx gets one", flow: http, script: script{"a": each(server(404))}, path: "a", status: failed, calls: times(1)},
		{name: "a timed-out http gets three", flow: http, script: script{"a": each(bad("timeout"))}, path: "a", status: failed, calls: times(3)},
		{name: "a timed-out exec gets one", flow: flow(""), script: script{"a": each(bad("timeout"))}, path: "a", status: failed, calls: times(1)},
		{name: "a block means three by default", flow: flow(", retry: {}"), script: script{"a": each(bad("exit_status"))}, path: "a", status: failed, calls: times(3)},
		{name: "success after retries is clean", flow: flow(", retry: {max_attempts: 5}"), script: script{"a": each(bad("tool"), bad("tool"), ok(1))}, path: "a", quality: machine.Clean, calls: times(3)},
		{name: "on filters by kind", flow: flow(", retry: {on: [tool]}"), script: script{"a": each(bad("tool"), bad("exit_status"))}, path: "a", status: failed, kind: "exit_status", calls: times(2)},
		{name: "never for invalid_input", flow: flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("invalid_input"))}, path: "a", status: failed, calls: times(1)},
		{name: "never for expression", flow: flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("expression"))}, path: "a", status: failed, reason: "expression", calls: times(1)},
		{name: "never for conflict", flow: flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("conflict"))}, path: "a", status: failed, calls: times(1)},
		{name: "never for cancelled", flow: flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("cancelled"))}, path: "a", status: failed, calls: times(1)},
		{name: "the graph's block is the default", flow: "retry: {max_attempts: 2}\n" + flow(""), script: script{"a": each(bad("tool"))}, path: "a", status: failed, calls: times(2)},
		{name: "the node's block beats the graph's", flow: "retry: {max_attempts: 2}\n" + flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("tool"))}, path: "a", status: failed, calls: times(4)},
		{
			name: "the error counts attempts", flow: flow(", retry: {max_attempts: 4}"), script: script{"a": each(bad("tool"))}, path: "a", status: failed,
			check: func(t *testing.T, w *walker) {
				if f := w.state.Failure; f.Attempt != 4 || f.Node != "a" {
					t.Errorf("failure %+v", f)
				}
			},
		},
		{
			name: "the budget is per visit", path: "a b a b a", calls: times(6),
			flow: `
nodes: {a: {kind: exec, command: [x], retry: {max_attempts: 2}}, b: {kind: pass}}
edges: [{from: a, to: b, when: "visits.a < 3"}, {from: a, to: END}, {from: b, to: a}]`,
			script: script{"a": each(bad("tool"), ok(1), bad("tool"), ok(1), bad("tool"), ok(1))},
		},
		{
			name: "nothing of a failed attempt is written", flow: `
state: {n: {type: integer, default: 1}, m: {type: integer, default: 1}}
nodes: {a: {kind: exec, command: [x], writes: [n, m], retry: {max_attempts: 2}}}
edges: [{from: a, to: END, condition: always}]`,
			script: script{"a": each(ok(map[string]any{"n": 5, "m": "text"}))}, path: "a", quality: machine.Degraded,
			state: map[string]any{"n": 1, "m": 1}, calls: times(2),
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// Delays grow by the backoff, stay under the cap, and jitter by at most its share.
func TestRetryDelays(t *testing.T) {
	flow := func(retry string) string {
		return head + "nodes: {a: {kind: exec, command: [x], retry: " + retry + "}}\nedges: [{from: a, to: END}]"
	}
	delays := func(retry string, answers ...answer) []time.Duration {
		return walk(t, flow(retry), script{"a": answers}, nil, machine.RunInfo{}).delays
	}
	got := delays("{max_attempts: 6, initial_interval: 100ms, backoff: 2, max_interval: 500ms, jitter: 0}", bad("tool"))
	want := []time.Duration{100e6, 200e6, 400e6, 500e6, 500e6}
	if len(got) != len(want) {
		t.Fatalf("delays %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("delay %d is %v, want %v", i, got[i], want[i])
		}
	}
	first := delays("{max_attempts: 9, initial_interval: 1s, backoff: 1, jitter: 0.5}", bad("tool"))
	again := delays("{max_attempts: 9, initial_interval: 1s, backoff: 1, jitter: 0.5}", bad("tool"))
	distinct := map[time.Duration]bool{}
	for i, d := range first {
		if d < 500*time.Millisecond || d > 1500*time.Millisecond {
			t.Errorf("delay %v is outside the jitter", d)
		}
		if d != again[i] {
			t.Errorf("delay %d is %v, then %v: not derived", i, d, again[i])
		}
		distinct[d] = true
	}
	if len(distinct) < len(first) {
		t.Errorf("delays repeat: %v", first)
	}
	asked := delays("{max_attempts: 2, initial_interval: 10ms}", badWith(machine.Failure{Kind: "rate_limited", RetryAfter: 7000}))
	if len(asked) != 1 || asked[0] != 7*time.Second {
		t.Errorf("Retry-After gives %v, want 7s", asked)
	}
	cut := walk(t, strings.Replace(flow("{max_attempts: 2, initial_interval: 1h, max_interval: 2h}"), "nodes:", "limits: {timeout: 1m}\nnodes:", 1),
		script{"a": each(bad("tool"))}, nil, machine.RunInfo{})
	if len(cut.delays) != 1 || cut.delays[0] > time.Minute {
		t.Errorf("delay %v is not cut to the run's deadline", cut.delays)
	}
}

func TestTimeouts(t *testing.T) {
	cases := []walkCase{
		{
			name:   "an attempt's timeout fails it, and may be retried",
			flow:   "nodes: {a: {kind: exec, command: [x], timeout: 5s, retry: {max_attempts: 2}}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(hang(), ok(1))}, path: "a", quality: machine.Clean, calls: map[string]int{"a": 2},
		},
		{
			name:   "without a retry it is the node's failure",
			flow:   "nodes: {a: {kind: exec, command: [x], timeout: 5s}, b: {kind: pass}}\nedges: [{from: a, to: END}, {from: a, to: b, condition: on_failure, when: \"error.kind == 'timeout'\"}, {from: b, to: END}]",
			script: script{"a": each(hang())}, path: "a b", quality: machine.Degraded,
		},
		{
			name:   "node_timeout is the default",
			flow:   "limits: {node_timeout: 5s}\nnodes: {a: {kind: exec, command: [x]}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(hang())}, path: "a", status: machine.Failed, kind: "timeout", says: "5s",
		},
		{
			name:   "the run's timeout is a limit; the interrupted execution is no step",
			flow:   "limits: {timeout: 9s}\nnodes: {a: {kind: exec, command: [x]}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(hang())}, path: "", status: machine.Limit, reason: "timeout", says: "9s",
			check: func(t *testing.T, w *walker) {
				if w.state.Steps != 0 || w.state.Partial()["a"] != "so far" {
					t.Errorf("steps %d, partial %v", w.state.Steps, w.state.Partial())
				}
			},
		},
		{
			name:   "step_timeout bounds a superstep",
			flow:   "limits: {step_timeout: 3s}\nnodes: {a: {kind: pass}, b: {kind: exec, command: [x]}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
			script: script{"b": each(hang())}, path: "a", status: machine.Limit, reason: "timeout", says: "3s",
		},
		{
			name: "wait parks for its time",
			flow: "nodes: {a: {kind: wait, for: 90s}, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
			path: "a b", quality: machine.Clean,
			check: func(t *testing.T, w *walker) {
				if len(w.delays) != 1 || w.delays[0] != 90*time.Second {
					t.Errorf("waited %v", w.delays)
				}
			},
		},
		{
			name: "wait until a time that has passed does not wait",
			flow: "nodes: {a: {kind: wait, until: \"'2001-01-01T00:00:00Z'\"}}\nedges: [{from: a, to: END}]",
			path: "a", check: func(t *testing.T, w *walker) {
				if w.delays[0] != 0 {
					t.Errorf("waited %v", w.delays)
				}
			},
		},
		{
			name: "wait until what is no time fails",
			flow: "nodes: {a: {kind: wait, until: \"'soon'\"}}\nedges: [{from: a, to: END}]",
			path: "a", status: machine.Failed, kind: "invalid_input", says: "soon",
		},
		{
			name: "fail ends the run with its message",
			flow: "state: {n: {type: integer, default: 3}}\nnodes: {a: {kind: fail, message: 'gave up after {{ n }}'}}\nedges: []",
			path: "a", status: machine.Failed, kind: "failed", says: "gave up after 3", reason: "node_failed",
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// What an expression has seen of the visits does not change when it is kept.
func TestVisitsAreKeptAsTheyWere(t *testing.T) {
	simCase{
		flow: `
state: {v: {type: array, reducer: append}}
nodes: {a: {kind: set, set: {v: "[visits, history, nodes.a.visits]"}}, b: {kind: pass}}
edges: [{from: a, to: b}, {from: b, to: a, when: visits.b < 2}, {from: b, to: END}]`,
		path: "a b a b",
		state: map[string]any{"v": []any{
			map[string]any{"a": 1, "b": 0},
			map[string]any{"a": []any{}, "b": []any{}},
			1,
			map[string]any{"a": 2, "b": 1},
			map[string]any{"a": []any{map[string]any{"v": []any{
				map[string]any{"a": 1, "b": 0}, map[string]any{"a": []any{}, "b": []any{}}, 1,
			}}}, "b": []any{map[string]any{"v": []any{
				map[string]any{"a": 1, "b": 0}, map[string]any{"a": []any{}, "b": []any{}}, 1,
			}}}},
			2,
		}},
	}.run(t)
}

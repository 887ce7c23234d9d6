package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// walkCase is one flow and what becomes of it. Empty expectations are not checked.
type walkCase struct {
	name    string
	flow    string // without the head
	script  script
	input   map[string]any
	info    machine.RunInfo
	path    string // node ids, separated by spaces
	status  machine.Status
	quality machine.Quality
	reason  string
	kind    string // of the run's failure
	says    string // part of the failure's message
	state   map[string]any
	output  any
	steps   int
	calls   map[string]int // attempts by node
	check   func(t *testing.T, w *walker)
}

const head = "graphrun: v1\nname: t\nstart: a\n"

func (c walkCase) run(t *testing.T) {
	w := walk(t, head+c.flow, c.script, c.input, c.info)
	s := w.state
	if got := strings.Join(w.path, " "); got != c.path {
		t.Errorf("path %q, want %q (status %s, failure %v)", got, c.path, s.Status, s.Failure)
	}
	status := c.status
	if status == "" {
		status = machine.Completed
	}
	if s.Status != status {
		t.Errorf("status %q, want %q (failure %v)", s.Status, status, s.Failure)
	}
	if c.quality != "" && s.Quality != c.quality {
		t.Errorf("quality %q, want %q", s.Quality, c.quality)
	}
	if c.reason != "" && s.Reason != c.reason {
		t.Errorf("reason %q, want %q", s.Reason, c.reason)
	}
	c.checkFailure(t, s.Failure)
	values := s.Values()
	for name, want := range c.state {
		if diff := cmp.Diff(want, values[name]); diff != "" {
			t.Errorf("state %s (-want +got):\n%s", name, diff)
		}
	}
	if c.output != nil {
		if diff := cmp.Diff(c.output, s.Output); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
	if c.steps != 0 && s.Steps != c.steps {
		t.Errorf("steps %d, want %d", s.Steps, c.steps)
	}
	for name, want := range c.calls {
		if got := w.asked[name]; got != want {
			t.Errorf("%s was asked %d times, want %d", name, got, want)
		}
	}
	if c.check != nil {
		c.check(t, w)
	}
}

func (walkCase) compare(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (c walkCase) checkFailure(t *testing.T, f *machine.Failure) {
	t.Helper()
	switch {
	case c.kind == "" && c.says == "":
	case f == nil:
		t.Errorf("no failure, want kind %q", c.kind)
	case c.kind != "" && f.Kind != c.kind:
		t.Errorf("failure kind %q (%s), want %q", f.Kind, f.Message, c.kind)
	case !strings.Contains(f.Message, c.says):
		t.Errorf("failure says %q, want %q in it", f.Message, c.says)
	}
}

// a goes to b or c; each rule of GraphSpec §6 decides which.
func TestEdgeOrder(t *testing.T) {
	three := "nodes: {a: {kind: exec, command: [x], retry: {max_attempts: 1}}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}}\nedges:\n"
	ends := "  - {from: [b, c, d], to: END}\n"
	cases := []walkCase{
		{
			name: "the first condition that is true fires, in declaration order",
			flow: three + "  - {from: a, to: b, when: 'false'}\n  - {from: a, to: c, when: 'true'}\n  - {from: a, to: d, when: 'true'}\n" + ends,
			path: "a c", quality: machine.Clean,
		},
		{
			name: "priority beats order",
			flow: three + "  - {from: a, to: b, when: 'true', priority: 1}\n  - {from: a, to: c, when: 'true', priority: 7}\n" + ends,
			path: "a c",
		},
		{
			name: "equal priorities keep declaration order",
			flow: three + "  - {from: a, to: b, when: 'true', priority: 3}\n  - {from: a, to: c, when: 'true', priority: 3}\n" + ends,
			path: "a b",
		},
		{
			name: "negative priorities come last among conditions, before the fallback",
			flow: three + "  - {from: a, to: b, when: 'true', priority: -1}\n  - {from: a, to: c}\n  - {from: a, to: d, when: 'false'}\n" + ends,
			path: "a b",
		},
		{
			name: "on_success is the fallback wherever it is declared",
			flow: three + "  - {from: a, to: b}\n  - {from: a, to: c, when: 'true'}\n" + ends,
			path: "a c",
		},
		{
			name: "always is a fallback after success",
			flow: three + "  - {from: a, to: b, condition: always}\n  - {from: a, to: c, when: 'true'}\n" + ends,
			path: "a c",
		},
		{
			name: "the fallback fires when no condition holds",
			flow: three + "  - {from: a, to: b, when: 'false'}\n  - {from: a, to: c}\n" + ends,
			path: "a c", quality: machine.Clean,
		},
		{
			name: "on_failure does not fire after success",
			flow: three + "  - {from: a, to: b, condition: on_failure}\n  - {from: a, to: c}\n" + ends,
			path: "a c",
		},
		{
			name:   "after failure conditions and on_success are not consulted",
			flow:   three + "  - {from: a, to: b, when: 'true'}\n  - {from: a, to: c}\n  - {from: a, to: d, condition: on_failure}\n" + ends,
			script: script{"a": each(bad("failed"))}, path: "a d", quality: machine.Degraded,
		},
		{
			name: "the first on_failure filter that matches fires alone",
			flow: three + "  - {from: a, to: b, condition: on_failure}\n  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n" +
				"  - {from: a, to: d, condition: on_failure, when: \"error.kind == 'tool'\"}\n" + ends,
			script: script{"a": each(bad("tool"))}, path: "a c", quality: machine.Degraded,
		},
		{
			name: "on_failure filters go by priority",
			flow: three + "  - {from: a, to: b, condition: on_failure, when: \"error.kind == 'tool'\"}\n" +
				"  - {from: a, to: d, condition: on_failure, priority: 2, when: \"error.attempt == 1\"}\n" + ends,
			script: script{"a": each(bad("tool"))}, path: "a d",
		},
		{
			name: "without a matching filter the plain on_failure edges fire",
			flow: three + "  - {from: a, to: b, condition: on_failure}\n  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n" +
				"  - {from: a, to: d, condition: always}\n" + ends,
			script: script{"a": each(bad("failed"))}, path: "a b",
		},
		{
			name:   "always catches a failure that no on_failure edge does",
			flow:   three + "  - {from: a, to: d, condition: always}\n  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n" + ends,
			script: script{"a": each(bad("failed"))}, path: "a d", quality: machine.Degraded,
		},
		{
			name:   "a failure that nothing catches fails the run",
			flow:   three + "  - {from: a, to: b}\n  - {from: a, to: c, condition: on_failure, when: \"error.kind == 'tool'\"}\n" + ends,
			script: script{"a": each(bad("exit_status"))}, path: "a",
			status: machine.Failed, reason: "node_failed", quality: machine.FailedQuality, kind: "exit_status",
		},
		{
			name: "no edge that fires is stuck",
			flow: three + "  - {from: a, to: b, when: 'step > 5'}\n  - {from: a, to: c, condition: on_failure}\n" + ends,
			path: "a", status: machine.Stuck, reason: "no_edge", quality: machine.FailedQuality, says: `"a"`,
			check: func(t *testing.T, w *walker) {
				got := w.state.Failure.Candidates
				if len(got) != 2 || !strings.Contains(got[0].Why, "step > 5 is false (step = 1)") || got[1].Why != "the node succeeded" {
					t.Errorf("candidates %+v", got)
				}
			},
		},
		{
			name: "a condition that errors is not false",
			flow: "state: {m: {type: object, default: {}}}\n" + three + "  - {from: a, to: b, when: 'm.n > 3'}\n  - {from: a, to: c}\n" + ends,
			path: "a", status: machine.Failed, reason: "expression", kind: "expression", says: "a → b",
			check: func(t *testing.T, w *walker) {
				if w.state.Failure.Edge == nil || *w.state.Failure.Edge != 0 {
					t.Errorf("edge %v, want 0", w.state.Failure.Edge)
				}
			},
		},
		{
			name: "two edges between the same nodes are told apart",
			flow: three + "  - {from: a, to: b, when: 'false'}\n  - {from: a, to: b, when: 'true'}\n" + ends,
			path: "a b",
			check: func(t *testing.T, w *walker) {
				if diff := cmp.Diff(map[int]int{1: 1, 2: 1}, w.state.FiredEdges()); diff != "" {
					t.Errorf("fired (-want +got):\n%s", diff)
				}
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestInputsAndTransforms(t *testing.T) {
	cases := []walkCase{
		{
			name: "without a transform the input is the source's output",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: set, set: {got: "input.v"}}}
edges: [{from: a, to: b}, {from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"v": 5}))}, path: "a b", state: map[string]any{"got": 5},
		},
		{
			name: "a transform map builds the input",
			flow: `
state: {got: {}, k: {type: integer, default: 2}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: set, set: {got: "input"}}}
edges: [{from: a, to: b, transform: {double: "output.v * k", lit: 3}}, {from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"v": 5}))}, path: "a b",
			state: map[string]any{"got": map[string]any{"double": 10, "lit": 3}},
		},
		{
			name: "a transform expression is the input",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: set, set: {got: "input"}}}
edges: [{from: a, to: b, transform: "output.v + 1"}, {from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"v": 5}))}, path: "a b", state: map[string]any{"got": 6},
		},
		{
			name: "the start node's input is the run's input",
			flow: `
state: {n: {type: integer}, got: {}}
nodes: {a: {kind: set, set: {got: "input.n + run.input.n"}}}
edges: [{from: a, to: END}]`,
			input: map[string]any{"n": 4}, path: "a", state: map[string]any{"got": 8},
		},
		{
			name: "before adds to the input",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: pass, before: {extra: "visits.a + 1"}}, c: {kind: set, set: {got: "input"}}}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]`,
			script: script{"a": each(ok(map[string]any{"v": 5}))}, path: "a b c",
			state: map[string]any{"got": map[string]any{"v": 5, "extra": 2}},
		},
		{
			name: "a failure is the input of the node that handles it",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x]}, b: {kind: set, set: {got: "input.kind"}}}
edges: [{from: a, to: b, condition: on_failure}, {from: a, to: END}, {from: b, to: END}]`,
			script: script{"a": each(bad("exit_status"))}, path: "a b", state: map[string]any{"got": "exit_status"},
		},
		{
			name: "a transform that errors fails the run",
			flow: `
nodes: {a: {kind: exec, command: [x]}, b: {kind: pass}}
edges: [{from: a, to: b, transform: "output.v + 1"}, {from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"w": 5}))}, path: "a",
			status: machine.Failed, reason: "expression", says: "transform",
		},
		{
			name: "a bare name of the source's output schema means output.name",
			flow: `
nodes: {a: {kind: exec, command: [x], output: {type: object, properties: {score: {type: number}}}}, b: {kind: pass}}
edges: [{from: a, to: b, when: "score > 0.5"}, {from: a, to: END}, {from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"score": 0.75}))}, path: "a b",
		},
		{
			name: "the run's output is that of the node before END",
			flow: `
nodes: {a: {kind: exec, command: [x]}}
edges: [{from: a, to: END}]`,
			script: script{"a": each(ok("done"))}, path: "a", output: "done",
		},
		{
			name: "output is an expression or a map of them",
			flow: `
state: {n: {type: integer, default: 3}}
output: {twice: "n * 2", last: "output"}
nodes: {a: {kind: exec, command: [x]}}
edges: [{from: a, to: END}]`,
			script: script{"a": each(ok("done"))}, path: "a", output: map[string]any{"twice": 6, "last": "done"},
		},
		{
			name: "finish adds an edge to END",
			flow: "finish: [b]\nnodes: {a: {kind: pass}, b: {kind: pass}}\nedges: [{from: a, to: b}]",
			path: "a b", quality: machine.Clean,
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestDynamicRouting(t *testing.T) {
	flow := `
nodes:
  a: {kind: exec, command: [x], ends: {go: b, stop: END}, retry: {max_attempts: 2, initial_interval: 1ms}}
  b: {kind: pass}
edges: [{from: b, to: END}]`
	cases := []walkCase{
		{
			name: "the output's goto names a label", flow: flow,
			script: script{"a": each(ok(map[string]any{"goto": "go"}))}, path: "a b", quality: machine.Clean,
		},
		{
			name: "a label may lead to END", flow: flow,
			script: script{"a": each(ok(map[string]any{"goto": "stop"}))}, path: "a",
		},
		{
			name: "an unknown label is invalid_output, and may be retried", flow: flow,
			script: script{"a": each(ok(map[string]any{"goto": "nope"}), ok(map[string]any{"goto": "go"}))},
			path:   "a b", calls: map[string]int{"a": 2},
		},
		{
			name: "an unknown label fails the node", flow: flow,
			script: script{"a": each(ok(map[string]any{"goto": "nope"}))}, path: "a",
			status: machine.Failed, kind: "invalid_output", says: `"nope"`, calls: map[string]int{"a": 2},
		},
		{
			name: "no goto and no edge is stuck", flow: flow,
			script: script{"a": each(ok("no goto"))}, path: "a", status: machine.Stuck,
		},
		{
			name: "an expression computes the label, edges are not consulted",
			flow: `
state: {n: {type: integer, default: 2}}
nodes: {a: {kind: pass, goto: "n > 1 ? 'b' : 'END'", ends: [b, END]}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: c}, {from: [b, c], to: END}]`,
			path: "a b",
		},
		{
			name: "goto sees the state after the node's writes",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: 5}, goto: "n == 5 ? 'b' : 'END'", ends: [b, END]}, b: {kind: pass}}
edges: [{from: b, to: END}]`,
			path: "a b",
		},
		{
			name: "an item may carry an input of its own",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x], ends: [b]}, b: {kind: set, set: {got: input}}}
edges: [{from: b, to: END}]`,
			script: script{"a": each(ok(map[string]any{"goto": map[string]any{"to": "b", "input": 7}}))},
			path:   "a b", state: map[string]any{"got": 7},
		},
		{
			name: "goto without ends in an output is data, not routing",
			flow: `
nodes: {a: {kind: exec, command: [x]}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: b}, {from: [b, c], to: END}]`,
			script: script{"a": each(ok(map[string]any{"goto": "c"}))}, path: "a b",
		},
		{
			name: "a goto expression that names no label takes the failure edges",
			flow: `
nodes: {a: {kind: pass, goto: "'x'", ends: [b]}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: c, condition: on_failure}, {from: [b, c], to: END}]`,
			path: "a c", quality: machine.Degraded,
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestDecisions(t *testing.T) {
	flow := `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}}
edges:
  - {from: a, to: b, condition: llm_decide, description: first}
  - {from: a, to: c, condition: llm_decide, description: second, fallback: true}
  - {from: a, to: d, when: "step > 1"}
  - {from: [b, c, d], to: END}`
	cases := []walkCase{
		{name: "the router's target fires alone", flow: flow, script: script{"router:a": each(routed("b"))}, path: "a b", quality: machine.Clean},
		{
			name: "a failed decision fires the fallback and degrades", flow: flow,
			script: script{"router:a": each(bad("llm"))}, path: "a c", quality: machine.Degraded, calls: map[string]int{"router:a": 1},
		},
		{
			name: "a target that is no candidate fires the fallback", flow: flow,
			script: script{"router:a": each(routed("d"))}, path: "a c", quality: machine.Degraded,
		},
		{
			name: "a condition that holds saves the question", flow: strings.Replace(flow, "step > 1", "step == 1", 1),
			path: "a d", quality: machine.Clean, calls: map[string]int{"router:a": 0},
		},
		{
			name: "a single candidate fires without a question",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}}
edges: [{from: a, to: b, condition: llm_decide, description: x}, {from: b, to: END}]`,
			path: "a b", quality: machine.Clean, calls: map[string]int{"router:a": 0},
		},
		{
			name: "a failed decision without a fallback is stuck", flow: strings.Replace(flow, ", fallback: true", "", 1),
			script: script{"router:a": each(bad("llm"))}, path: "a", status: machine.Stuck, says: "fallback",
		},
		{
			name: "the fallback may be an on_success edge",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}}
edges:
  - {from: a, to: b, condition: llm_decide, description: first}
  - {from: a, to: c, condition: llm_decide, description: second}
  - {from: a, to: d, fallback: true}
  - {from: [b, c, d], to: END}`,
			script: script{"router:a": each(bad("llm"))}, path: "a d", quality: machine.Degraded,
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

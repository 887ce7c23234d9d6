package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

func TestEach(t *testing.T) {
	flow := func(node string) string {
		return "state: {xs: {type: array, default: [1, 2, 3]}, ys: {type: array}, n: {type: integer, default: 0, reducer: sum}, l: {type: array, reducer: append}}\n" +
			"nodes: {a: {" + node + "}, b: {kind: pass}}\nedges: [{from: a, to: END}, {from: a, to: b, condition: on_failure}, {from: b, to: END}]"
	}
	run := func(rest string) string { return flow("kind: exec, command: [x], each: xs, writes: [ys]" + rest) }
	list := func(items ...any) []any { return items }
	cases := []walkCase{
		{name: "the output is the list of outputs, written as one", flow: run(""), script: script{"a": each(ok("p"), ok("q"), ok("r"))}, path: "a", steps: 1, state: map[string]any{"ys": list("p", "q", "r")}, quality: machine.Clean},
		{name: "a schema is that of each output, not of their list", flow: strings.Replace(flow("kind: llm, prompt: x, output: {type: object}, each: xs, writes: [ys]"), "edges:", "models: {default: scripted/x}\nedges:", 1), script: script{"a": each(ok(map[string]any{}), ok(map[string]any{}), ok(map[string]any{}))}, path: "a", quality: machine.Clean},
		{name: "an empty list runs nothing", flow: strings.Replace(run(""), "[1, 2, 3]", "[]", 1), path: "a", state: map[string]any{"ys": []any{}}, calls: map[string]int{"a": 0}},
		{name: "what is no list fails", flow: strings.Replace(run(""), "each: xs", "each: last.tool_result", 1), path: "a b", quality: machine.Degraded},
		{name: "a set node writes per element", flow: flow("kind: set, each: xs, set: {n: item, l: \"item * 10 + index\"}"), path: "a", steps: 1, state: map[string]any{"n": 6, "l": list(10, 21, 32)}},
		{name: "an element that fails halfway writes nothing", flow: flow("kind: set, each: xs, parallel: {on_failure: continue_others}, set: {l: item, n: \"4 % (item - 2)\"}"), path: "a", quality: machine.Degraded, state: map[string]any{"n": 0, "l": list(1, 3)}},
		{name: "elements do not see each other's writes", flow: flow("kind: set, each: xs, set: {l: n}"), path: "a", state: map[string]any{"l": list(0, 0, 0)}},
		{name: "a pass node passes the elements", flow: flow("kind: pass, each: xs, writes: {ys: output}"), path: "a", state: map[string]any{"ys": list(1, 2, 3)}},
		{name: "each element has its own retries", flow: run(", retry: {max_attempts: 2}"), script: script{"a": each(bad("tool"), ok("q"), ok("r"), ok("p"))}, path: "a", quality: machine.Clean, state: map[string]any{"ys": list("p", "q", "r")}, calls: map[string]int{"a": 4}},
		{name: "fail_all fails the node with the element's error", flow: run(""), script: script{"a": each(ok("p"), bad("tool"), hang())}, path: "a b", quality: machine.Degraded},
		{name: "continue_others leaves null", flow: run(", parallel: {on_failure: continue_others}"), script: script{"a": each(ok("p"), bad("tool"), ok("r"))}, path: "a", quality: machine.Degraded, state: map[string]any{"ys": list("p", nil, "r")}},
		{name: "all elements failed is a failure", flow: run(", parallel: {on_failure: continue_others}"), script: script{"a": each(bad("tool"))}, path: "a b", quality: machine.Degraded},
		{name: "max_concurrency bounds the window", flow: "limits: {max_concurrency: 1}\n" + run(""), script: script{"a": each(ok("p"), ok("q"), ok("r"))}, path: "a", state: map[string]any{"ys": list("p", "q", "r")}},
		{
			name: "an element's timeout is its own", flow: run(", timeout: 1s, parallel: {on_failure: wait_all}"), script: script{"a": each(ok("p"), hang(), ok("r"))}, path: "a", quality: machine.Degraded,
			check: func(t *testing.T, w *walker) {
				got, _ := w.state.Value("ys")
				ys := got.([]any)
				failed, _ := ys[1].(map[string]any)
				if ys[0] != "p" || ys[2] != "r" || failed["error"].(map[string]any)["kind"] != "timeout" {
					t.Errorf("ys %v", ys)
				}
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

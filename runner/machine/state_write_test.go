package machine_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

func TestWrites(t *testing.T) {
	flow := func(state, writes string) string {
		return "state: " + state + "\nnodes: {a: {kind: exec, command: [x], writes: " + writes + "}}\nedges: [{from: a, to: END}]"
	}
	obj := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	failed := machine.Failed
	cases := []walkCase{
		{name: "a list takes the keys from the object", flow: flow("{x: {}, y: {}}", "[x, y]"), script: script{"a": each(ok(obj("x", 1, "y", 2)))}, path: "a", state: obj("x", 1, "y", 2)},
		{name: "a single key not in the output takes it whole", flow: flow("{x: {}}", "[x]"), script: script{"a": each(ok(obj("z", 1)))}, path: "a", state: obj("x", obj("z", 1))},
		{name: "a single key in the output takes its value", flow: flow("{x: {}}", "[x]"), script: script{"a": each(ok(obj("x", 1)))}, path: "a", state: obj("x", 1)},
		{name: "a missing key is invalid_output", flow: flow("{x: {}, y: {}}", "[x, y]"), script: script{"a": each(ok(obj("x", 1)))}, path: "a", status: failed, kind: "invalid_output", says: `"y"`},
		{name: "several keys need an object", flow: flow("{x: {}, y: {}}", "[x, y]"), script: script{"a": each(ok("text"))}, path: "a", status: failed, kind: "invalid_output"},
		{name: "a map computes", flow: flow("{x: {}, y: {}}", "{x: output.p + 1, y: len(output.q)}"), script: script{"a": each(ok(obj("p", 1, "q", "abc")))}, path: "a", state: obj("x", 2, "y", 3)},
		{name: "a bad write changes nothing", flow: flow("{x: {type: integer, default: 7}, y: {type: integer, default: 8}}", "[x, y]"), script: script{"a": each(ok(obj("x", 1, "y", "no")))}, path: "a", status: failed, kind: "invalid_output", says: `"y"`, state: obj("x", 7, "y", 8)},
		{name: "numbers take the type of their schema", flow: flow("{x: {type: number}, y: {type: integer}}", "[x, y]"), script: script{"a": each(ok(obj("x", 2, "y", 3.0)))}, path: "a", state: obj("x", 2.0, "y", 3)},
		{
			name: "an output schema is checked", path: "a", status: failed, kind: "invalid_output",
			flow:   "nodes: {a: {kind: exec, command: [x], output: {type: object, required: [v]}}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(ok(obj("w", 1)))},
		},
		{
			name: "set sees its own earlier assignments", path: "a", state: obj("x", 2, "y", 20),
			flow: "state: {x: {type: integer, default: 1}, y: {type: integer}}\nnodes: {a: {kind: set, set: {x: 'x + 1', y: 'x * 10'}}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "set takes expressions, templates and literals", path: "a", state: obj("e", 3, "t", "n is 2!", "l", []any{1, "two"}, "typed", 2),
			flow: "state: {n: {type: integer, default: 2}, e: {}, t: {}, l: {}, typed: {}}\nnodes: {a: {kind: set, set: {e: 'n + 1', t: 'n is {{ n }}!', typed: '{{ n }}', l: [1, two]}}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "an expression error in a node fails the run as such", path: "a", status: failed, reason: "expression", kind: "expression", says: "set.x",
			flow: "state: {x: {type: integer}, m: {type: object, default: {}}}\nnodes: {a: {kind: set, set: {x: 'm.q + 1'}}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "a missing value in a template names it", path: "a", status: failed, kind: "expression", says: "who",
			flow: "state: {who: {type: string}}\nnodes: {a: {kind: exec, command: [echo, '{{ who }}']}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "undeclared keys are kept when the graph allows them", path: "a", state: obj("free", 1, "given", "x"),
			flow:  "strict_state: false\nnodes: {a: {kind: set, set: {free: 1}}}\nedges: [{from: a, to: END}]",
			input: obj("given", "x"),
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestReducers(t *testing.T) {
	list := func(items ...any) []any { return items }
	msg := func(id, text string) map[string]any {
		return map[string]any{"id": id, "role": "user", "content": text}
	}
	cases := []struct {
		name   string
		schema string
		writes []any // one a visit
		want   any
		bad    bool
	}{
		{"replace", "{type: integer, default: 1}", list(2, 3), 3, false},
		{"append concatenates a list", "{type: array, reducer: append}", list(list(1), list(2, 3)), list(1, 2, 3), false},
		{"append adds anything else as one element", "{type: array, reducer: append}", list("a", map[string]any{"b": 1}), list("a", map[string]any{"b": 1}), false},
		{"append checks the new elements", "{type: array, items: {type: string}, reducer: append}", list("a", 5), nil, true},
		{"append checks the length", "{type: array, maxItems: 1, reducer: append}", list("a", "b"), nil, true},
		{"prepend puts a list in front", "{type: array, reducer: prepend, default: [9]}", list(list(1, 2), 3), list(3, 1, 2, 9), false},
		{"merge is shallow", "{type: object, reducer: merge, default: {a: 1, b: {c: 1}}}", list(map[string]any{"b": map[string]any{"d": 2}}), map[string]any{"a": 1, "b": map[string]any{"d": 2}}, false},
		{"merge wants an object", "{type: object, reducer: merge}", list(5), nil, true},
		{"sum", "{type: integer, reducer: sum, default: 1}", list(2, 3), 6, false},
		{"sum of numbers", "{type: number, reducer: sum, default: 1}", list(2, 0.5), 3.5, false},
		{"sum starts at the first update", "{type: integer, reducer: sum}", list(2, 3), 5, false},
		{"sum wants a number", "{reducer: sum}", list("x"), nil, true},
		{"min", "{type: integer, reducer: min}", list(5, 2, 3), 2, false},
		{"max", "{type: number, reducer: max, default: 0}", list(5, 2, 7.5), 7.5, false},
		{"union keeps first-seen order", "{type: array, reducer: union}", list(list("b", "a"), list("a", "c", "b"), list(map[string]any{"k": 1}), list(map[string]any{"k": 1})), list("b", "a", "c", map[string]any{"k": 1}), false},
		{"an expression over current and update", `{type: integer, default: 0, reducer: "current * 10 + update"}`, list(1, 2, 3), 123, false},
		{"an expression reducer is checked", `{type: integer, maximum: 5, default: 0, reducer: "current + update"}`, list(3, 3), nil, true},
		{"messages append, and replace by id", "{type: array, reducer: messages}", list(msg("1", "a"), msg("2", "b"), msg("1", "c")), list(msg("1", "c"), msg("2", "b")), false},
		{"messages remove by id", "{type: array, reducer: messages}", list(list(msg("1", "a"), msg("2", "b")), map[string]any{"op": "remove", "id": "1"}), list(msg("2", "b")), false},
		{"messages remove all", "{type: array, reducer: messages}", list(msg("1", "a"), map[string]any{"op": "remove_all"}), []any{}, false},
		{"messages replace the last of the user", "{type: array, reducer: messages}", list(msg("1", "a"), map[string]any{"op": "replace_last_user", "content": "z"}), list(msg("1", "z")), false},
		{"messages refuse an unknown op", "{type: array, reducer: messages}", list(map[string]any{"op": "explode"}), nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answers := make([]answer, len(c.writes))
			for i, w := range c.writes {
				answers[i] = ok(map[string]any{"k": w, "done": i == len(c.writes)-1})
			}
			w := walk(t, head+"state: {k: "+c.schema+", done: {}}\nnodes: {a: {kind: exec, command: [x], writes: [k, done]}}\nedges: [{from: a, to: a, when: 'not done'}, {from: a, to: END}]",
				script{"a": answers}, nil, machine.RunInfo{})
			if c.bad {
				if f := w.state.Failure; f == nil || f.Kind != "invalid_output" {
					t.Fatalf("failure %v, want invalid_output", f)
				}
				return
			}
			got, _ := w.state.Value("k")
			walkCase{state: map[string]any{"k": c.want}}.compare(t, got, c.want)
		})
	}
}

// A list that a state key took from an append key does not change when either
// grows.
func TestAppendDoesNotAlias(t *testing.T) {
	w := walk(t, head+`
state: {xs: {type: array, reducer: append, default: []}, ys: {type: array, reducer: append, default: []}, copy: {type: array}}
nodes:
  a: {kind: set, set: {xs: 1}}
  b: {kind: set, set: {copy: xs, ys: xs}}
  c: {kind: set, set: {xs: 2}}
  d: {kind: set, set: {ys: 3}}
  e: {kind: set, set: {xs: 4}}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}, {from: d, to: e}, {from: e, to: END}]`, nil, nil, machine.RunInfo{})
	for name, want := range map[string]any{
		"xs": []any{1, 2, 4}, "ys": []any{1, 3}, "copy": []any{1},
	} {
		got, _ := w.state.Value(name)
		walkCase{}.compare(t, got, want)
	}
}

package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// What expressions and handlers see.
func TestContext(t *testing.T) {
	exec := "nodes: {a: {kind: exec, command: [x]%s}, b: {kind: pass}, c: {kind: pass}}\nedges:\n"
	at := func(extra string) string { return strings.Replace(exec, "%s", extra, 1) }
	ends := "  - {from: [b, c], to: END}\n"
	cases := []walkCase{
		{
			name: "outcome is success", path: "a b",
			flow: at("") + "  - {from: a, to: b, when: \"outcome == 'success' and error == nil\"}\n  - {from: a, to: c}\n" + ends,
		},
		{
			name: "outcome is failure", path: "a b", script: script{"a": each(bad("tool"))},
			flow: at("") + "  - {from: a, to: b, condition: on_failure, when: \"outcome == 'failure' and error.kind == 'tool' and output == nil\"}\n  - {from: a, to: c, condition: on_failure}\n" + ends,
		},
		{
			name: "the error of a failure that has passed is gone", path: "a a b",
			flow:   at("") + "  - {from: a, to: a, condition: on_failure}\n  - {from: a, to: b, when: 'error == nil'}\n  - {from: a, to: c}\n" + ends,
			script: script{"a": each(bad("tool"), ok(1))},
		},
		{
			name: "nodes has visits and outputs", path: "a a b",
			flow:   at("") + "  - {from: a, to: a, when: 'nodes.a.visits == 1 and nodes.a.output == 7 and nodes.b.visits == 0'}\n  - {from: a, to: b, when: 'nodes.a.visits == 2 and nodes.a.output == 8'}\n  - {from: a, to: c}\n" + ends,
			script: script{"a": each(ok(7), ok(8))},
		},
		{
			name: "node and step", path: "a b",
			flow: at("") + "  - {from: a, to: b, when: \"node == 'a' and step == 1\"}\n  - {from: a, to: c}\n" + ends,
		},
		{
			name: "the goal of the graph", path: "a b",
			flow: "goal: win\n" + at("") + "  - {from: a, to: b, when: \"goal == 'win'\"}\n  - {from: a, to: c}\n" + ends,
		},
		{
			name: "the goal of the run goes before it", path: "a b", info: machine.RunInfo{Goal: "draw"},
			flow: "goal: win\n" + at("") + "  - {from: a, to: b, when: \"goal == 'draw'\"}\n  - {from: a, to: c}\n" + ends,
		},
		{
			name: "run", path: "a b", input: map[string]any{"n": 3},
			flow: "state: {n: {type: integer}}\n" + at("") + "  - {from: a, to: b, when: \"run.id == 'run' and run.input.n == 3 and run.started_at startsWith '2001-09-09T01:46:40'\"}\n  - {from: a, to: c}\n" + ends,
		},
		{
			name: "input takes the type of its key", path: "a b", input: map[string]any{"n": 3},
			flow:  "state: {n: {type: number}}\n" + at("") + "  - {from: a, to: b}\n  - {from: a, to: c, when: 'n > 3.5'}\n" + ends,
			state: map[string]any{"n": 3.0},
		},
		{
			name: "before goes before the input", path: "a b", output: map[string]any{"v": "mine", "w": 2},
			flow:   "nodes: {a: {kind: exec, command: [x]}, b: {kind: pass, before: {v: \"'mine'\"}}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
			script: script{"a": each(ok(map[string]any{"v": 1, "w": 2}))},
		},
		{
			name: "an input that is no object becomes the value beside what before adds", path: "a b", output: map[string]any{"v": 1, "value": 5},
			flow:   "nodes: {a: {kind: exec, command: [x]}, b: {kind: pass, before: {v: '1'}}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
			script: script{"a": each(ok(5))},
		},
		{
			name: "null becomes nothing", path: "a b", output: map[string]any{"v": 1},
			flow:   "nodes: {a: {kind: exec, command: [x]}, b: {kind: pass, before: {v: '1'}}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
			script: script{"a": each(ok(nil))},
		},
		{
			name: "before that errors is a failure of the node", path: "a b", quality: machine.Degraded,
			flow: "state: {m: {type: object, default: {}}}\nnodes: {a: {kind: pass, before: {v: m.n + 1}}, b: {kind: pass}}\nedges: [{from: a, to: b, condition: on_failure, when: \"error.kind == 'expression'\"}, {from: a, to: END}, {from: b, to: END}]",
		},
		{
			name: "emit that errors is a failure of the node", path: "a b", quality: machine.Degraded,
			flow: "state: {m: {type: object, default: {}}}\nnodes: {a: {kind: pass, emit: {v: m.n + 1}}, b: {kind: pass}}\nedges: [{from: a, to: b, condition: on_failure, when: \"error.kind == 'expression'\"}, {from: a, to: END}, {from: b, to: END}]",
		},
		{
			name: "writes that error are a failure of the node", path: "a b", quality: machine.Degraded,
			flow:   "state: {k: {}}\nnodes: {a: {kind: exec, command: [x], writes: {k: output.no.where}}, b: {kind: pass}}\nedges: [{from: a, to: b, condition: on_failure, when: \"error.kind == 'expression'\"}, {from: a, to: END}, {from: b, to: END}]",
			script: script{"a": each(ok(map[string]any{}))},
		},
		{
			name: "an output of the run that errors fails it", path: "a", status: machine.Failed, reason: "expression", kind: "expression", says: "output: ",
			flow:   "output: output.no.where\nnodes: {a: {kind: exec, command: [x]}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(ok(map[string]any{}))},
		},
		{
			name: "the run's timeout may be given to the run", path: "", status: machine.Limit, reason: "timeout", says: "3s",
			flow: at("") + "  - {from: a, to: END}\n  - {from: a, to: b, when: step > 5}\n  - {from: a, to: c, when: step > 5}\n" + ends + "limits: {timeout: 9s}\n",
			info: machine.RunInfo{Timeout: 3 * time.Second}, script: script{"a": each(hang())},
		},
		{
			name: "a node's timeout goes before node_timeout", path: "a", status: machine.Failed, kind: "timeout", says: "7s",
			flow:   "limits: {node_timeout: 5s}\nnodes: {a: {kind: exec, command: [x], timeout: 7s}}\nedges: [{from: a, to: END}]",
			script: script{"a": each(hang())},
		},
		{
			name: "a node's visit limit goes before that of the graph", path: "a a a", status: machine.Limit, reason: "max_visits",
			flow: "limits: {max_visits: 2}\nnodes: {a: {kind: pass, max_visits: 3}}\nedges: [{from: a, to: a, when: step < 50}, {from: a, to: END}]",
		},
		{
			name: "what is skipped does not go where goto says", path: "a b a c",
			flow: "nodes: {a: {kind: pass, max_visits: 1, on_max_visits: skip, goto: \"'b'\", ends: [b]}, b: {kind: pass}, c: {kind: pass}}\nedges: [{from: a, to: c}, {from: b, to: a}, {from: c, to: END}]",
		},
		{
			name: "a goto that errors fails the run", path: "a", status: machine.Failed, reason: "expression", kind: "expression", says: "goto: ",
			flow: "state: {m: {type: object, default: {}}}\nnodes: {a: {kind: pass, goto: m.n.x, ends: [b]}, b: {kind: pass}}\nedges: [{from: a, to: END}, {from: b, to: END}]",
		},
		{
			name: "goto may name END and any node where there is no ends", path: "a b a",
			flow: "nodes: {a: {kind: pass, goto: \"visits.a == 1 ? 'b' : 'END'\"}, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: a}]",
		},
		{
			name: "goto to no node is invalid_output", path: "a", status: machine.Failed, kind: "invalid_output", says: `"nowhere"`,
			flow: "nodes: {a: {kind: pass, goto: \"'nowhere'\"}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "wait gives null", path: "a b", state: map[string]any{"got": nil},
			flow: "state: {got: {default: 1}}\nnodes: {a: {kind: wait, for: 1s}, b: {kind: set, set: {got: input}}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
		},
		{
			name: "set takes back what it previewed", path: "a", state: map[string]any{"n": 3, "twice": 6, "log": []any{"a", "b"}, "len": 2},
			flow: "state: {n: {type: integer, reducer: sum, default: 1}, twice: {}, log: {type: array, reducer: append, default: [a]}, len: {}}\nnodes: {a: {kind: set, set: {n: 2, twice: n * 2, log: \"'b'\", len: len(log)}}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "set that fails half way writes nothing", path: "a", status: machine.Failed, state: map[string]any{"n": 1},
			flow: "state: {n: {type: integer, default: 1}, m: {type: object, default: {}}}\nnodes: {a: {kind: set, set: {n: n + 1, m: m.no.where}}}\nedges: [{from: a, to: END}]",
		},
		{
			name: "what a reducer makes takes the type of the key", path: "a", state: map[string]any{"m": map[string]any{"x": 1.0, "y": 2.0}},
			flow: "state: {m: {type: object, properties: {x: {type: number}, y: {type: number}}, reducer: merge, default: {x: 1}}}\nnodes: {a: {kind: set, set: {m: {y: 2}}}}\nedges: [{from: a, to: END}]",
		},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// A handler gets the state it may read and no list that it could grow.
func TestWorkState(t *testing.T) {
	w := walk(t, head+`
state: {n: {type: integer, default: 1}, m: {type: integer, default: 2}, unset: {}, log: {type: array, reducer: append, default: []}}
nodes:
  a: {kind: set, set: {log: "'x'"}}
  b: {kind: set, set: {log: "'y'"}}
  c: {kind: set, set: {log: "'z'"}}
  d: {kind: exec, command: [x], reads: [n, log, unset]}
  e: {kind: exec, command: [x]}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}, {from: d, to: e}, {from: e, to: END}]`, nil, nil, machine.RunInfo{})
	log := []any{"x", "y", "z"}
	want := []map[string]any{{"n": 1, "log": log}, {"n": 1, "m": 2, "log": log}}
	for _, c := range w.cmds {
		if c.Kind != machine.RunTask {
			continue
		}
		walkCase{}.compare(t, c.Work.State, want[0])
		want = want[1:]
		if list := c.Work.State["log"].([]any); cap(list) != len(list) {
			t.Errorf("log has room for %d, holds %d", cap(list), len(list))
		}
	}
	if len(want) > 0 {
		t.Errorf("%d tasks did not run", len(want))
	}
}

// A watched run tells what a node emits.
func TestEmitNotes(t *testing.T) {
	plan := build(t, head+"state: {n: {type: integer, default: 4}}\nnodes: {a: {kind: pass, emit: {v: n + 1}}}\nedges: [{from: a, to: END}]")
	for _, watched := range []bool{true, false} {
		s := plan.NewState()
		s.Watched = watched
		if _, err := plan.Apply(s, machine.Event{Kind: machine.RunBegan}); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(s.Notes(), func(n machine.Note) bool { return n.Kind == machine.NoteNodeEmitted })
		switch {
		case !watched && len(s.Notes()) > 0:
			t.Errorf("notes %v, but nobody watches", s.Notes())
		case watched && at < 0:
			t.Errorf("no note of what was emitted")
		case watched:
			walkCase{}.compare(t, machine.Plain(s.Notes()[at].Output), map[string]any{"v": 5})
		}
	}
}

// Messages are told apart by place, role and id.
func TestMessages(t *testing.T) {
	msg := func(id, role, text string) map[string]any {
		return map[string]any{"id": id, "role": role, "content": text}
	}
	talk := []any{msg("1", "user", "a"), msg("2", "assistant", "b"), msg("3", "user", "c"), msg("4", "assistant", "d")}
	for _, c := range []struct {
		name   string
		update any
		want   []any
	}{
		{"remove", map[string]any{"op": "remove", "id": "3"}, []any{talk[0], talk[1], talk[3]}},
		{"remove what is not there", map[string]any{"op": "remove", "id": "9"}, talk},
		{"replace the last of the user", map[string]any{"op": "replace_last_user", "content": "z"}, []any{talk[0], talk[1], msg("3", "user", "z"), talk[3]}},
		{"replace by id", msg("2", "assistant", "z"), []any{talk[0], msg("2", "assistant", "z"), talk[2], talk[3]}},
		{"without an id nothing is replaced", map[string]any{"role": "user", "content": "z"}, append(slices.Clone(talk), map[string]any{"role": "user", "content": "z"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := walk(t, head+"state: {k: {type: array, reducer: messages}, before: {}}\nnodes: {a: {kind: exec, command: [x], writes: [k]}, b: {kind: set, set: {before: k}}, c: {kind: exec, command: [x], writes: [k]}}\nedges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]",
				script{"a": each(ok(talk)), "c": each(ok(c.update))}, nil, machine.RunInfo{})
			got, _ := w.state.Value("k")
			walkCase{}.compare(t, got, c.want)
			before, _ := w.state.Value("before")
			walkCase{}.compare(t, before, talk)
		})
	}
}

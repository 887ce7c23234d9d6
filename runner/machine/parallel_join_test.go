package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// race is a fan-out of three tasks into a join.
func race(wait string) string {
	return `
state: {log: {type: array, reducer: append, default: []}, seen: {}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: [log]}
  c: {kind: exec, command: [x], writes: [log]}
  d: {kind: exec, command: [x], writes: [log]}
  j: {kind: set, join: {wait: ` + wait + `}, set: {seen: branches}}
edges: [{from: a, to: [b, c, d]}, {from: [b, c, d], to: j}, {from: j, to: END}]`
}

func came(output any) map[string]any { return map[string]any{"output": output, "error": nil} }

// Joins: what they wait for, what they cancel, when they fire again (GraphSpec §7).
func TestJoins(t *testing.T) {
	three := replies{"b": once(after(3, "b")), "c": once(after(1, "c")), "d": once(after(2, "d"))}
	runAll(t, []simCase{
		{
			name: "all waits for every branch", flow: race("all"), replies: three, path: "a b c d j", took: 3,
			state: map[string]any{
				"log":  []any{"b", "c", "d"},
				"seen": map[string]any{"b": came("b"), "c": came("c"), "d": came("d")},
			},
			quality: machine.Clean,
		},
		{
			name: "any fires with the first and cancels the rest at once, without writes", flow: race("any"), replies: three,
			path: "a c j", gone: "b d", took: 1, quality: machine.Clean,
			state: map[string]any{"log": []any{"c"}, "seen": map[string]any{"c": came("c")}},
		},
		{
			name: "N fires with that many; their writes are in declaration order", flow: race("2"), replies: three,
			path: "a c d j", gone: "b", took: 2, quality: machine.Clean, state: map[string]any{"log": []any{"c", "d"}},
		},
		{
			name: "N as many as there are is all", flow: race("3"), replies: three, path: "a b c d j", took: 3,
			state: map[string]any{"log": []any{"b", "c", "d"}},
		},
		{
			name: "N too big can't be satisfied: stuck, with the reason", flow: race("4"), replies: three, path: "a b c d",
			status: machine.Stuck, at: "j", says: "waits for 4 branches, 3 arrived", quality: machine.FailedQuality,
			check: func(t *testing.T, s *sim) {
				if got := len(s.state.Failure.Candidates); got != 3 {
					t.Errorf("%d candidates: %v", got, s.state.Failure.Candidates)
				}
			},
		},
		{
			name:    "N that a branch which ended elsewhere was needed for is stuck",
			flow:    strings.Replace(race("3"), "edges: [", "edges: [{from: d, to: END, when: \"output == 'd'\"}, ", 1),
			replies: three, path: "a b c d", status: machine.Stuck, says: "2 arrived",
		},
		{
			name:    "N with a failed branch that was tolerated: the others still suffice",
			flow:    "parallel: {on_failure: continue_others}\n" + race("2"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "d": once(after(3, "d"))},
			path:    "a b c d j", quality: machine.Degraded, state: map[string]any{"log": []any{"c", "d"}},
		},
		{
			name:    "any passes over a failure that was tolerated",
			flow:    "parallel: {on_failure: continue_others}\n" + race("any"),
			replies: replies{"b": once(fails(1)), "c": once(after(2, "c")), "d": once(never())},
			path:    "a b c j", gone: "d", took: 2, quality: machine.Degraded, state: map[string]any{"log": []any{"c"}},
		},
		{
			name: "any among parked tasks: what waits is forgotten",
			flow: `
nodes: {a: {kind: pass}, b: {kind: wait, for: 1h}, c: {kind: wait, for: 1s}, j: {kind: pass, join: {wait: any}}, k: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: j}, {from: j, to: k}, {from: k, to: END}]`,
			path: "a c j k", took: 1, quality: machine.Clean,
			check: func(t *testing.T, s *sim) {
				if s.state.Steps != 4 {
					t.Errorf("%d steps", s.state.Steps)
				}
			},
		},
		{
			name: "any cancels a branch at any distance from it",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, b2: {kind: pass}, c: {kind: pass}, c2: {kind: exec, command: [x]}, c3: {kind: pass}, j: {kind: pass, join: {wait: any}}, k: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: c, to: c2}, {from: c2, to: c3}, {from: [b2, c3], to: j}, {from: j, to: k}, {from: k, to: END}]`,
			replies: replies{"c2": once(never())}, path: "a b c b2 j k", // c2 is not even started
		},
		{
			name: "any leaves a sibling alone that can't reach it",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, e: {kind: exec, command: [x]}, e2: {kind: pass}, j: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c, e]}, {from: [b, c], to: j}, {from: e, to: e2}, {from: [j, e2], to: END}]`,
			replies: replies{"b": once(after(1, nil)), "c": once(never()), "e": once(after(5, nil))},
			path:    "a b e j e2", gone: "c", took: 5,
		},
		{
			name: "finished tasks cancel nothing when another edge may fire",
			flow: `
nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, e: {kind: pass}, j: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: b, to: e, when: output == 1}, {from: [b, c], to: j}, {from: [e, j], to: END}]`,
			replies: replies{"b": once(after(1, 1)), "c": once(after(3, nil))}, path: "a b c e j", took: 3,
		},
		{
			name: "a join fires again in a loop",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, d: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: a, when: n < 3}, {from: d, to: END}]`,
			replies: replies{"b": once(after(1, nil), after(3, nil))}, path: "a b c d a b c d a b c d", quality: machine.Clean,
		},
		{
			name: "an any join fires once per round of a loop",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: exec, command: [x]}, c: {kind: exec, command: [x]}, d: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: a, when: n < 3}, {from: d, to: END}]`,
			replies: replies{"b": once(after(1, nil), after(3, nil)), "c": once(after(2, nil))},
			path:    "a b d a c d a c d", gone: "c b b",
		},
		{
			name: "both of two that finish at once may arrive at an any join: it still runs once",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, j: {kind: pass, join: {wait: any}}, k: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: j}, {from: j, to: k}, {from: k, to: END}]`,
			path: "a b c j k",
		},
		{
			name: "a join of one live branch fires at once, with a plain input",
			flow: `
state: {got: {}}
nodes: {a: {kind: exec, command: [x]}, j: {kind: set, join: {wait: all}, set: {got: input}}}
edges: [{from: a, to: j}, {from: j, to: END}]`,
			replies: replies{"a": once(after(1, 5))}, path: "a j", state: map[string]any{"got": 5},
		},
		{
			name: "a join's inputs are keyed by source",
			flow: `
state: {got: {}}
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, c2: {kind: pass}, j: {kind: set, join: {wait: all}, set: {got: input}}}
edges: [{from: a, to: [b, c]}, {from: b, to: j, transform: "'b'"}, {from: c, to: c2}, {from: c2, to: j, transform: "'c2'"}, {from: j, to: END}]`,
			path: "a b c c2 j", state: map[string]any{"got": map[string]any{"b": "b", "c2": "c2"}},
		},
		{
			name: "join auto: the first node that all branches can reach is a join",
			flow: `
parallel: {join: auto}
nodes: {a: {kind: pass}, b: {kind: pass}, b2: {kind: pass}, c: {kind: pass}, d: {kind: pass}, e: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: [b2, c], to: d}, {from: d, to: e}, {from: e, to: END}]`,
			path: "a b c b2 d e", quality: machine.Clean,
		},
		{
			name: "join auto serves each fan-out of a nest",
			flow: `
parallel: {join: auto}
nodes: {a: {kind: pass}, b: {kind: pass}, b1: {kind: pass}, b2: {kind: pass}, b3: {kind: pass}, i: {kind: pass}, c: {kind: pass}, o: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: [b1, b2]}, {from: b1, to: b3}, {from: [b2, b3], to: i}, {from: [i, c], to: o}, {from: o, to: END}]`,
			path: "a b c b1 b2 b3 i o",
		},
		{
			name: "join auto fires again in a loop",
			flow: `
parallel: {join: auto}
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: pass}, b2: {kind: pass}, c: {kind: pass}, d: {kind: pass}}
edges: [{from: a, to: [b, c]}, {from: b, to: b2}, {from: [b2, c], to: d}, {from: d, to: a, when: n < 2}, {from: d, to: END}]`,
			path: "a b c b2 d a b c b2 d",
		},
	})
}

// Fan-outs inside fan-outs, alone and in loops.
func TestNesting(t *testing.T) {
	// two levels of joins; the outer one is declared first, so that nothing but
	// the nesting tells which is to fire.
	nest := func(inner, outer, rest string) string {
		return `
state: {n: {type: integer, default: 0}}
nodes:
  o: {kind: set, join: {wait: ` + outer + `}, set: {n: n + 1}}
  a: {kind: pass}
  p: {kind: pass}
  p1: {kind: exec, command: [x]}
  p2: {kind: exec, command: [x]}
  i: {kind: pass, join: {wait: ` + inner + `}}
  q: {kind: exec, command: [x]}
edges: [{from: a, to: [p, q]}, {from: p, to: [p1, p2]}, {from: [p1, p2], to: i}, {from: [i, q], to: o}, ` + rest + `{from: o, to: END}]`
	}
	loop := "{from: o, to: a, when: n < 2}, "
	late := replies{"p1": once(after(1, nil)), "p2": once(after(2, nil)), "q": once(after(5, nil))}
	early := replies{"p1": once(after(3, nil)), "p2": once(after(4, nil)), "q": once(after(1, nil))}
	runAll(t, []simCase{
		{name: "an inner and an outer join", flow: nest("all", "all", ""), replies: early, path: "a p q p1 p2 i o", quality: machine.Clean},
		{
			name: "in a loop the inner join fires first", flow: nest("all", "all", loop), replies: early,
			path: "a p q p1 p2 i o a p q p1 p2 i o", state: map[string]any{"n": 2},
		},
		{
			name: "an inner any join in a loop leaves the outer branches alone", flow: nest("any", "all", loop), replies: late,
			path: "a p q p1 i o a p q p1 i o", gone: "p2 p2", state: map[string]any{"n": 2},
		},
		{
			name: "an inner join in a loop does not wait for the outer branches", path: "a p p1 p2 i o a p p1 p2 i o", took: 0,
			flow:  strings.Replace(nest("all", "any", loop), "q: {kind: exec, command: [x]}", "q: {kind: wait, for: 1h}", 1),
			state: map[string]any{"n": 2}, quality: machine.Clean,
		},
		{
			name: "an outer any join cancels an inner fan-out whole", flow: nest("all", "any", ""),
			replies: replies{"p1": once(never()), "p2": once(never()), "q": once(after(1, nil))}, path: "a p q o",
		},
		{
			name: "branches of a nested fan-out count one by one at a join of the outer",
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, b1: {kind: pass}, b2: {kind: pass}, c: {kind: exec, command: [x]}, j: {kind: pass, join: {wait: 2}}}
edges: [{from: a, to: [b, c]}, {from: b, to: [b1, b2]}, {from: [b1, b2, c], to: j}, {from: j, to: END}]`,
			replies: replies{"c": once(after(3, nil))}, path: "a b c b1 b2 j",
		},
		{
			name: "parked tasks that a join makes useless are forgotten, and their timers with them", path: "a b j a b j", gone: "",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: wait, for: 1s}, c: {kind: wait, for: 90s}, j: {kind: set, join: {wait: any}, set: {n: n + 1}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: j}, {from: j, to: a, when: n < 2}, {from: j, to: END}]`,
			took: 2,
		},
		{
			name: "a fan-out of a fan-out's join", path: "a b c j d e k", quality: machine.Clean,
			flow: `
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, j: {kind: pass, join: {wait: all}}, d: {kind: pass}, e: {kind: pass}, k: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: j}, {from: j, to: [d, e]}, {from: [d, e], to: k}, {from: k, to: END}]`,
		},
		{
			name: "joins that wait for each other: the run does not hang",
			flow: `
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: pass}, x: {kind: set, join: {wait: all}, set: {n: n + 1}}, y: {kind: set, join: {wait: all}, set: {n: n + 1}}}
edges: [{from: a, to: [x, y]}, {from: x, to: y, when: n < 4}, {from: x, to: END}, {from: y, to: x, when: n < 4}, {from: y, to: END}]`,
			path: "a x y x y",
		},
	})
}

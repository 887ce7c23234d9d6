package crashtest

// flow is a graph of the crash tests, with the answers to its questions by node.
type flow struct {
	name    string
	text    string
	answers map[string][]string
}

// head and endless are the first lines of the flows.
const (
	head    = "graphrun: v1\nname: crash\nlimits: {max_steps: 1000}\n"
	endless = "graphrun: v1\nname: crash\nlimits: {max_steps: 1000000}\n"
)

// flows returns flows with every kind of task that a crash can interrupt. The first one writes
// enough for snapshots.
func flows() []flow {
	return []flow{
		{name: "sequential", text: head + `
start: a
state:
  n: {type: integer, default: 0}
  text: {type: string}
  log: {type: array, reducer: append}
nodes:
  a: {kind: effect, size: 7000, writes: {text: output.text, n: n + 1, log: "[output.key]"}}
  b: {kind: set, set: {log: "{'n': n, 'before': visits.a}"}}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 14}
  - {from: b, to: END}
`},
		{name: "parallel", text: head + `
start: a
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  b: {kind: effect, writes: {log: "['b']"}}
  c: {kind: effect, writes: {log: "['c']"}}
  d: {kind: effect, writes: {log: "['d', output.key]"}}
  e: {kind: effect, fails: 1, retry: {max_attempts: 3, initial_interval: 1ms}, writes: {log: "['e']"}}
  f: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [b, c, e]}
  - {from: b, to: d}
  - {from: [c, d, e], to: f}
  - {from: f, to: a, when: n < 3}
  - {from: f, to: END}
`},
		{name: "finally", text: head + `
start: a
finally: [b, sub, c]
output: n
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: effect, writes: {n: n + 1, log: "[output.key]"}}
  b: {kind: effect, fails: 1, retry: {max_attempts: 2, initial_interval: 1ms}, writes: {log: "[output.key, run.status]"}}
  sub: {kind: graph, graph: ./child.yaml, with: {n: n}, writes: {log: output.state.log}}
  c: {kind: effect, each: "[1, 2]", writes: {log: "map(output, #.key)"}}
edges:
  - {from: a, to: a, when: n < 4}
  - {from: a, to: END}
`},
		{name: "each", text: head + `
start: a
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  b: {kind: effect, each: "1..(n + 4)", fails: 1, retry: {max_attempts: 2, initial_interval: 1ms}, writes: {log: "map(output, #.key)"}}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 3}
  - {from: b, to: END}
`},
		{name: "subgraph", text: head + `
start: a
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: effect, writes: {n: n + 1}}
  b: {kind: graph, graph: ./child.yaml, with: {n: n}, writes: {log: output.state.log}}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 3}
  - {from: b, to: END}
`},
		{name: "nested", answers: map[string][]string{"b/ask": {"yes", "no"}}, text: head + `
start: a
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: effect, writes: {n: n + 1}}
  b: {kind: graph, graph: ./parent.yaml, with: {n: n}, writes: {log: output.state.log}}
  c: {kind: graph, graph: ./child.yaml, with: {n: n}, each: "[1, 2]", writes: {log: "map(output, .state.log)"}}
  d: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: a, when: n < 2}
  - {from: d, to: END}
`},
		{name: "human", answers: map[string][]string{"ask": {"yes", "yes"}, "sign": {"4", "5"}}, text: head + `
start: a
state: {n: {type: integer, default: 0}, log: {type: array, reducer: append}}
nodes:
  a: {kind: effect, writes: {n: n + 1}}
  ask: {kind: human, prompt: "{{ n }}?", choices: [yes, no], writes: {log: "[output]"}}
  sign: {kind: human, prompt: sign, schema: {type: integer}, writes: {log: "[output]"}}
  b: {kind: effect, join: {wait: all}, writes: {log: "[output.key]"}}
edges:
  - {from: a, to: [ask, sign]}
  - {from: [ask, sign], to: b}
  - {from: b, to: a, when: n < 2}
  - {from: b, to: END}
`},
	}
}

// counterFlow returns a flow that counts numbered answers. It ignores a number that it has
// counted before.
func counterFlow() flow {
	return flow{name: "counter", text: endless + `start: ask
state: {k: {type: integer, default: 0}, n: {type: integer, default: 0}}
nodes:
  ask: {kind: human, prompt: "after {{ n }}?", schema: {type: integer}, writes: [k]}
  add: {kind: set, set: {n: "k == n + 1 ? k : n"}}
edges: [{from: ask, to: add}, {from: add, to: ask, when: k > 0}, {from: add, to: END}]
`}
}

// pairsFlow returns a flow that increments two keys, each in a separate branch.
func pairsFlow() flow {
	return flow{name: "pairs", text: endless + `start: a
state: {x: {type: integer, default: 0}, y: {type: integer, default: 0}, both: {type: array, reducer: append}}
nodes:
  a: {kind: pass}
  b: {kind: set, set: {x: x + 1, both: "'b'"}}
  c: {kind: set, set: {y: y + 1, both: "'c'"}}
  d: {kind: effect, join: {wait: all}}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: a, when: x < 400}
  - {from: d, to: END}
`}
}

// child is the subgraph of the flow "subgraph".
const child = `graphrun: v1
name: child
start: x
state: {n: {type: integer, required: true}, log: {type: array, reducer: append}}
nodes:
  x: {kind: effect, writes: {log: "[n, output.key]"}}
  y: {kind: effect, writes: {log: "[output.key]"}}
edges: [{from: x, to: y}, {from: y, to: END}]
`

// nested is the subgraph of the flow "nested".
const nested = `graphrun: v1
name: nested
start: x
state: {n: {type: integer, required: true}, log: {type: array, reducer: append}}
nodes:
  x: {kind: effect, writes: {log: "[n, output.key]"}}
  sub: {kind: graph, graph: ./child.yaml, with: {n: n + 10}, writes: {log: output.state.log}}
  ask: {kind: human, prompt: "{{ n }}?", choices: ["yes", "no"], writes: {log: "[output]"}}
  y: {kind: effect, join: {wait: all}, writes: {log: "[output.key]"}}
edges:
  - {from: x, to: [sub, ask]}
  - {from: [sub, ask], to: y}
  - {from: y, to: END}
`

// The rules about names, ways and types, which spec.Check and the compiler of
// expressions check; what needs other files is checked here.

package lint

import "github.com/graphrun/graphrun/spec"

func structureRules() []Rule {
	return []Rule{
		{
			Name: "missing-start", Group: "structure", Severity: spec.Error,
			Summary: "the graph names no first node",
			Doc:     "A run begins at the node that the key start names.",
			Good:    oneNode,
			change:  []string{"start: a\n", ""},
		},
		{
			Name: "unknown-node", Group: "structure", Severity: spec.Error,
			Summary: "a name of no node of the graph",
			Doc:     "An edge, start, finish, ends or a pause names a node that does not exist, or goto a label that ends does not have. The message suggests the nearest name.",
			Bad: example + `nodes:
  a: {kind: pass}
  review: {kind: pass}
edges:
  - {from: a, to: reveiw}
  - {from: a, to: review, when: step < 2}
  - {from: review, to: END}
`,
			change: []string{"reveiw}\n  - {from: a, to: review, when: step < 2}", "review}"},
			check:  checkLabels, needs: needNode,
		},
		{
			Name: "no-outgoing-edge", Group: "structure", Severity: spec.Error,
			Summary: "a node from which no edge leads on",
			Doc:     "A branch that comes to the node could not end well. Give it an edge, to END if the run is over there; a fail node needs none.",
			Good:    twoNodes,
			change:  []string{"\n  - {from: b, to: END}", ""},
		},
		{
			Name: "edge-from-end", Group: "structure", Severity: spec.Error,
			Summary: "an edge that leaves END",
			Doc:     "END completes a branch. What is to happen afterwards belongs before it.",
			Good:    twoNodes,
			change:  []string{"b, to: END}", "b, to: END}\n  - {from: END, to: a}"},
		},
		{
			Name: "duplicate-edge", Group: "structure", Severity: spec.Warning,
			Summary: "a second edge between two nodes with the same condition",
			Doc:     "The second edge can never make a difference. It is left over from an edit, or was meant for another target.",
			Good:    twoNodes,
			change:  []string{"  - {from: b, to: END}", "  - {from: a, to: b}\n  - {from: b, to: END}"},
		},
		{
			Name: "unreachable-node", Group: "structure", Severity: spec.Error,
			Summary: "a node that no path from the start reaches",
			Doc:     "No edge leads there, so it never runs. Connect it, or remove it.",
			Good:    twoNodes,
			change:  []string{"a, to: b", "a, to: END"},
		},
		{
			Name: "end-unreachable", Group: "structure", Severity: spec.Error,
			Summary: "no path leads to END or to a fail node",
			Doc:     "A run could only end by a limit. Some path must lead to END.",
			Good: example + `nodes:
  a: {kind: pass}
  b: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: visits.a < 3}
  - {from: b, to: END}
`,
			change: []string{"a, when: visits.a < 3}\n  - {from: b, to: END}", "a}"},
		},
		{
			Name: "inescapable-cycle", Group: "structure", Severity: spec.Error,
			Summary: "a cycle without a way out",
			Doc:     "Other paths end, but a run that enters this cycle never leaves it. Add an edge that leads out.",
			Bad: example + `nodes:
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
edges:
  - {from: a, to: b, when: run.id startsWith 'x'}
  - {from: a, to: END}
  - {from: b, to: c}
  - {from: c, to: b}
`,
			change: []string{"c, to: b}", "c, to: b, when: visits.b < 3}\n  - {from: c, to: END}"},
		},
		{
			Name: "unknown-state-key", Group: "data", Severity: spec.Error,
			Summary: "a name of no declared state key",
			Doc:     "reads, writes, set, a cache key or the with of a subgraph names a key that is not declared under state. Declare it, or set strict_state: false to allow undeclared keys.",
			Bad: example + `output: total
state:
  total: {type: integer, default: 0}
nodes:
  a: {kind: set, set: {totl: 1}}
edges:
  - {from: a, to: END}
`,
			change: []string{"totl", "total"},
			check:  checkChildKeys, needs: needNode,
		},
		{
			Name: "type-mismatch", Group: "data", Severity: spec.Error,
			Summary: "a value of a type that its place can not hold",
			Doc:     "A default, a literal, or the result of an expression does not fit the schema of the state key, the subgraph's key or the tool's argument that takes it.",
			Bad: example + `output: n
state:
  n: {type: integer, default: many}
nodes:
  a: {kind: set, set: {n: 1}}
edges:
  - {from: a, to: END}
`,
			change: []string{"many", "0"},
			check:  checkTypes, needs: needNode,
		},
		{
			Name: "retry-on-agent", Group: "models", Severity: spec.Error,
			Summary: "a retry block on an agent node",
			Doc:     "An agent tries again by itself, under its judge; the executor gives it one attempt. Use judge.max_rounds and loop.max_turns.",
			Bad: example + `models: {default: openai/gpt-6-luna}
nodes:
  a: {kind: agent, prompt: "Tidy up.", timeout: 5m, retry: {max_attempts: 2}}
edges:
  - {from: a, to: END}
`,
			change: []string{"retry: {max_attempts: 2}", "judge: {criteria: it is tidy, max_rounds: 2}"},
		},
	}
}

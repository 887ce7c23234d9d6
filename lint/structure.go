// Rules that reading the file, spec.Check or the compiler of expressions check.

package lint

import "github.com/graphrun/graphrun/spec"

func structureRules() []Rule {
	return []Rule{{
		Name: "syntax", Group: "structure", Severity: spec.Error,
		Summary: "the file is not readable YAML or JSON",
		Doc:     "The text can not be read: an unclosed bracket or quote, a tab as indentation, a character that may not stand in YAML, more than one document, or nesting beyond any need. Nothing else of the file can be checked.",
		Good:    oneNode, change: []string{"pass}", "pass"},
	}, {
		Name: "duplicate-key", Group: "structure", Severity: spec.Error,
		Summary: "a key stands twice in one map",
		Doc:     "Of two entries with one key only one can count, and readers disagree which. Remove one, or rename it.",
		Good:    oneNode, change: []string{"  a: {kind: pass}", "  a: {kind: pass}\n  a: {kind: pass}"},
	}, {
		Name: "unknown-key", Group: "structure", Severity: spec.Error,
		Summary: "a key that the language does not have",
		Doc:     "Unknown keys are refused at any depth, since a misspelt key would otherwise do nothing. Keys that begin with x- are yours and ignored.",
		Bad:     singleNode("a", "", "{kind: pass, timout: 3s}"),
		change:  []string{"timout: 3s", "timeout: 3s, x-owner: me"},
	}, {
		Name: "missing-field", Group: "structure", Severity: spec.Error, needs: needNode, check: checkGivenFields,
		Summary: "a required key is absent",
		Doc:     "The file, a node, an edge or a call of a subgraph or a tool lacks a key that it can not do without.",
		Bad:     example + "nodes:\n  a: {kind: fail}\nedges: []\n",
		change:  []string{"kind: fail", "kind: fail, message: nothing to do"},
	}, {
		Name: "invalid-value", Group: "structure", Severity: spec.Error, needs: needNode, check: checkFinalPeople,
		Summary: "a value that its key does not admit",
		Doc:     "The value is of the wrong kind, out of range, or none of the words that the key takes. The message lists what is allowed.",
		Bad:     singleNode("a", "", "{kind: pass, timeout: soon}"),
		change:  []string{"soon", "30s"},
	}, {
		Name: "reserved-name", Group: "structure", Severity: spec.Error,
		Summary: "a name that the language keeps for itself",
		Doc:     "START, END, __start__ and __end__ are no node names; state keys can not take the names that expressions have of their own, such as output, input or visits, nor words of the expression language.",
		Bad:     singleNode("a", "state:\n  output: {type: string, default: \"\"}\n", "{kind: pass}"),
		change:  []string{"state:\n  output:", "output: result\nstate:\n  result:"},
	}, {
		Name: "missing-start", Group: "structure", Severity: spec.Error,
		Summary: "the graph names no first node",
		Doc:     "A run begins at the node that the key start names.",
		Good:    oneNode, change: []string{"start: a\n", ""},
	}, {
		Name: "unknown-node", Group: "structure", Severity: spec.Error, needs: needNode, check: checkLabels,
		Summary: "a name of no node of the graph",
		Doc:     "An edge, start, finish, ends or a pause names a node that does not exist, or goto a label that ends does not have. The message suggests the nearest name.",
		Bad:     example + passNodes("a", "review") + edges("from: a, to: reveiw", "from: a, to: review, when: step < 2", "from: review, to: END"),
		change:  []string{"reveiw}\n  - {from: a, to: review, when: step < 2}", "review}"},
	}, {
		Name: "no-outgoing-edge", Group: "structure", Severity: spec.Error,
		Summary: "a node from which no edge leads on",
		Doc:     "A branch that reaches the node gets stuck. Give it an edge, to END if the run is over there; a fail node needs none.",
		Good:    twoNodes, change: []string{"\n  - {from: b, to: END}", ""},
	}, {
		Name: "edge-from-end", Group: "structure", Severity: spec.Error,
		Summary: "an edge that leaves END",
		Doc:     "END completes a branch, so nothing can follow it. Put the next step before END.",
		Good:    twoNodes, change: []string{"b, to: END}", "b, to: END}\n  - {from: END, to: a}"},
	}, {
		Name: "duplicate-edge", Group: "structure", Severity: spec.Warning, needs: needAll, check: checkPointless,
		Summary: "an edge between two nodes beside another one that makes it pointless",
		Doc:     "Two edges have one target, and one of them can never make a difference: the conditions are the same, or where the one does not fire the next one does. It is left over from an edit, or was meant for another target.",
		Good:    twoNodes, change: []string{"  - {from: b, to: END}", "  - {from: a, to: b}\n  - {from: b, to: END}"},
	}, {
		Name: "unreachable-node", Group: "structure", Severity: spec.Error,
		Summary: "a node that no path from the start reaches",
		Doc:     "No edge leads there, so it never runs. Connect it, or remove it.",
		Good:    twoNodes, change: []string{"a, to: b", "a, to: END"},
	}, {
		Name: "end-unreachable", Group: "structure", Severity: spec.Error,
		Summary: "no path leads to END or to a fail node",
		Doc:     "Without a path to END or to a fail node, a run can end only at a limit.",
		Good:    example + passNodes("a", "b") + edges("from: a, to: b", "from: b, to: a, when: visits.a < 3", "from: b, to: END"),
		change:  []string{"a, when: visits.a < 3}\n  - {from: b, to: END}", "a}"},
	}, {
		Name: "inescapable-cycle", Group: "structure", Severity: spec.Error,
		Summary: "a cycle without a way out",
		Doc:     "Other paths end, but a run that enters this cycle never leaves it. Add an edge that leads out.",
		Bad:     example + passNodes("a", "b", "c") + edges("from: a, to: b, when: run.id startsWith 'x'", "from: a, to: END", "from: b, to: c", "from: c, to: b"),
		change:  []string{"c, to: b}", "c, to: b, when: visits.b < 3}\n  - {from: c, to: END}"},
	}, {
		Name: "unknown-state-key", Group: "data", Severity: spec.Error, needs: needNode, check: checkChildKeys,
		Summary: "a name of no declared state key",
		Doc:     "reads, writes, set, a cache key or the with of a subgraph names a key that is not declared under state. Declare it, or set strict_state: false to allow undeclared keys.",
		Bad:     singleNode("a", "output: total\nstate:\n  total: {type: integer, default: 0}\n", "{kind: set, set: {totl: 1}}"),
		change:  []string{"totl", "total"},
	}, {
		Name: "type-mismatch", Group: "data", Severity: spec.Error, needs: needNode, check: checkTypes,
		Summary: "a value of the wrong type for the key that takes it",
		Doc: "A default, a literal, or the result of an expression does not fit the schema of the state key, the subgraph's key or the tool's argument that takes it. Of an enum each value must fit, also of one that a subgraph or another key hands over, and of a range its ends. The form that a person fills in may not admit or leave out what the key refuses. " +
			"A key with a reducer takes only what is new: with sum, n + 5 adds n twice. A number that a set node counts with must stay in its range, a wait needs a duration.",
		Bad:    singleNode("a", "output: n\nstate:\n  n: {type: integer, default: many}\n", "{kind: set, set: {n: 1}}"),
		change: []string{"many", "0"},
	}, {
		Name: "retry-on-agent", Group: "models", Severity: spec.Error,
		Summary: "a retry block on an agent node",
		Doc:     "An agent tries again by itself, under its judge; the executor gives it one attempt. Use judge.max_rounds and loop.max_turns.",
		Bad:     singleNode("a", "models: {default: openai/gpt-6-luna}\n", `{kind: agent, prompt: "Tidy up.", timeout: 5m, retry: {max_attempts: 2}}`),
		change:  []string{"retry: {max_attempts: 2}", "judge: {criteria: it is tidy, max_rounds: 2}"},
	}, {
		Name: "expr-syntax", Group: "expressions", Severity: spec.Error,
		Summary: "an expression that can not be read",
		Doc:     "The expression is not complete, holds what the language does not have, or is too long or nested too deep. The mark stands where reading stopped.",
		Good:    guarded, change: []string{"n == 1", "n =="},
	}, {
		Name: "expr-type", Group: "expressions", Severity: spec.Error,
		Summary: "an operation on values of types that it can not take",
		Doc:     "A comparison of a number with a text, a member of a number, an argument of the wrong type. Types come from the schemas under state and from declared outputs.",
		Good:    guarded, change: []string{"n == 1", "n == 'one'"},
	}, {
		Name: "expr-unknown-name", Group: "expressions", Severity: spec.Error,
		Summary: "an unknown name in an expression",
		Doc:     "Expressions see the declared state keys and the names of the run, such as output, input, visits and step. visits and nodes know the nodes of the graph only.",
		Bad:     example + passNodes("a") + edges("from: a, to: a, when: visits.b < 3", "from: a, to: END"),
		change:  []string{"visits.b", "visits.a"},
	}, {
		Name: "expr-not-boolean", Group: "expressions", Severity: spec.Error,
		Summary: "a condition that is neither true nor false",
		Doc:     "A condition must be a boolean: compare the value, as in n > 0 or text != ''.",
		Good:    guarded, change: []string{"n == 1", "n"},
	}}
}

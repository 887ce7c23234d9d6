// The rules of reading a file: its text, keys and values. spec.Parse checks them.

package lint

import "github.com/graphrun/graphrun/spec"

func syntaxRules() []Rule {
	return []Rule{
		{
			Name: "syntax", Group: "structure", Severity: spec.Error,
			Summary: "the file is not readable YAML or JSON",
			Doc:     "The text can not be read: an unclosed bracket or quote, a tab as indentation, a character that may not stand in YAML, more than one document, or nesting beyond any need. Nothing else of the file can be checked.",
			Good:    oneNode,
			change:  []string{"pass}", "pass"},
		},
		{
			Name: "duplicate-key", Group: "structure", Severity: spec.Error,
			Summary: "a key stands twice in one map",
			Doc:     "Of two entries with one key only one can count, and readers disagree which. Remove one, or rename it.",
			Good:    oneNode,
			change:  []string{"  a: {kind: pass}", "  a: {kind: pass}\n  a: {kind: pass}"},
		},
		{
			Name: "unknown-key", Group: "structure", Severity: spec.Error,
			Summary: "a key that the language does not have",
			Doc:     "Unknown keys are refused at any depth, since a misspelt key would otherwise do nothing. Keys that begin with x- are yours and ignored.",
			Bad: example + `nodes:
  a: {kind: pass, timout: 3s}
edges:
  - {from: a, to: END}
`,
			change: []string{"timout: 3s", "timeout: 3s, x-owner: me"},
		},
		{
			Name: "missing-field", Group: "structure", Severity: spec.Error,
			Summary: "a required key is absent",
			Doc:     "The file, a node, an edge or a call of a subgraph or a tool lacks a key that it can not do without.",
			Bad: example + `nodes:
  a: {kind: fail}
edges: []
`,
			change: []string{"kind: fail", "kind: fail, message: nothing to do"},
			check:  checkGivenFields, needs: needNode,
		},
		{
			Name: "invalid-value", Group: "structure", Severity: spec.Error,
			Summary: "a value that its key does not admit",
			Doc:     "The value is of the wrong kind, out of range, or none of the words that the key takes. The message lists what is allowed.",
			Bad: example + `nodes:
  a: {kind: pass, timeout: soon}
edges:
  - {from: a, to: END}
`,
			change: []string{"soon", "30s"},
			check:  (*facts).finalPeople, needs: needNode,
		},
		{
			Name: "reserved-name", Group: "structure", Severity: spec.Error,
			Summary: "a name that the language keeps for itself",
			Doc:     "START, END, __start__ and __end__ are no node names; state keys can not take the names that expressions have of their own, such as output, input or visits, nor words of the expression language.",
			Bad: example + `state:
  output: {type: string, default: ""}
nodes:
  a: {kind: pass}
edges:
  - {from: a, to: END}
`,
			change: []string{"state:\n  output:", "output: result\nstate:\n  result:"},
		},
	}
}

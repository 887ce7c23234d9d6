// The rules of expressions, which their compiler checks.

package lint

import "github.com/graphrun/graphrun/spec"

func expressionRules() []Rule {
	return []Rule{
		{
			Name: "expr-syntax", Group: "expressions", Severity: spec.Error,
			Summary: "an expression that can not be read",
			Doc:     "The expression is not complete, holds what the language does not have, or is too long or nested too deep. The mark stands where reading stopped.",
			Good:    guarded, change: []string{"n == 1", "n =="},
		},
		{
			Name: "expr-type", Group: "expressions", Severity: spec.Error,
			Summary: "an operation on values of types that it can not take",
			Doc:     "A comparison of a number with a text, a member of a number, an argument of the wrong type. Types come from the schemas under state and from declared outputs.",
			Good:    guarded, change: []string{"n == 1", "n == 'one'"},
		},
		{
			Name: "expr-unknown-name", Group: "expressions", Severity: spec.Error,
			Summary: "a name in an expression that stands for nothing",
			Doc:     "Expressions see the declared state keys and the names of the run, such as output, input, visits and step. visits and nodes know the nodes of the graph only.",
			Bad: example + `nodes:
  a: {kind: pass}
edges:
  - {from: a, to: a, when: visits.b < 3}
  - {from: a, to: END}
`,
			change: []string{"visits.b", "visits.a"},
		},
		{
			Name: "expr-not-boolean", Group: "expressions", Severity: spec.Error,
			Summary: "a condition that is neither true nor false",
			Doc:     "A condition must be a boolean: compare the value, as in n > 0 or text != ''.",
			Good:    guarded, change: []string{"n == 1", "n"},
		},
	}
}

// missing-timeout: a node that waits for others has no time limit.

package lint

import "github.com/graphrun/graphrun/spec"

func missingTimeout() Rule {
	return Rule{
		Name: "missing-timeout", Group: "limits", Severity: spec.Warning, needs: needNode,
		Summary: "a node that runs a program, a request or a model has no time limit",
		Doc:     "Programs, servers and models may never answer. Without a timeout on the node, a limits.node_timeout for every node, or a limits.timeout for the run, such a node can hang for ever.",
		Bad: `graphrun: v1
name: fetch
start: get
nodes:
  get: {kind: http, url: "https://example.org/"}
edges:
  - {from: get, to: END}
`,
		change: []string{`org/"`, `org/", timeout: 10s`},
		check:  checkMissingTimeout,
	}
}

func checkMissingTimeout(f *facts) {
	limits := f.graph.Limits
	if limits.NodeTimeout > 0 || limits.Timeout > 0 || limits.StepTimeout > 0 || f.graph.Faulty(limits.Span) {
		return
	}
	for _, n := range f.graph.Nodes {
		switch n.Kind.Value {
		case "agent", "exec", "http", "llm":
			if n.Timeout == 0 && !f.graph.Faulty(n.Span) {
				f.report(n.ID.Span, "%q has no time limit; give it a timeout, or set limits.node_timeout or limits.timeout", n.ID.Value)
			}
		}
	}
}

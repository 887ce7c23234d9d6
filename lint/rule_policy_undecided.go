// policy-undecided: neither a path that breaks a policy was found nor proof that
// there is none.

package lint

import "github.com/graphrun/graphrun/spec"

func policyUndecided() Rule {
	return Rule{
		Name: "policy-undecided", Severity: spec.Info, needs: needAll,
		Summary: "it can't be told before a run whether a policy is kept",
		Doc: "No path that breaks the policy was found, and no proof that there is none: the message says what stood in the way. The run watches the policy all the same. " +
			"A policy of which neither policy-violated nor policy-undecided speaks is kept by every run, whatever programs yield, however long they take and whoever they ask. " +
			"A policy of a shared file (extends) whose place is no node of the graph asks nothing of it; where a node's name is near, that is said here. " +
			"The finding fails nothing, also under --strict; --rule +policy-undecided makes it a warning.",
		Bad: `graphrun: v1
name: release
start: measure
state:
  sum: {type: integer, default: 0}
policies:
  - {never: sum > 10, at: deploy}
nodes:
  measure: {kind: exec, command: [measure], timeout: 1m, writes: [sum]}
  deploy: {kind: pass}
edges:
  - {from: measure, to: deploy}
  - {from: deploy, to: END}
`,
		Good: `graphrun: v1
name: release
start: measure
state:
  sum: {type: integer, default: 0}
policies:
  - {never: sum > 10, at: deploy}
nodes:
  measure: {kind: exec, command: [measure], timeout: 1m, writes: [sum]}
  deploy: {kind: pass}
edges:
  - {from: measure, to: deploy, when: sum <= 10}
  - {from: measure, to: END}
  - {from: deploy, to: END}
`,
		check: func(f *facts) {
			for i := range f.undecided {
				d := &f.undecided[i]
				f.report(d.policy.at.Span, "whether this policy is kept can't be told before a run: %s", d.why)
			}
			for _, e := range f.elsewhere() {
				if e.meant != "" {
					f.report(e.name.Span, "%q is no node of this graph, so that this policy of a shared file asks nothing of it", e.name.Value).Suggestion = e.meant
				}
			}
		},
	}
}

// policy-undecided: neither a path that breaks a policy was found nor proof that
// there is none.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

func policyUndecided() Rule {
	return Rule{
		Name: "policy-undecided", Group: "policies", Severity: spec.Info, needs: needAll,
		Summary: "it can't be told before a run whether a policy is kept",
		Doc: "No path that breaks the policy was found, and no proof that there is none: the message says what stood in the way. The run watches the policy all the same. " +
			"A policy of which neither policy-violated nor policy-undecided speaks is kept by every run, whatever programs yield, however long they take and whoever they ask. " +
			"A policy of a shared file (extends) whose place is no node of the graph asks nothing of it; where a node's name is near, that is said here. " +
			"Nor are policies checked in a file that has errors, even where these are switched off: that is said in the place of what is known of each policy, unless the error itself is printed. " +
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
		change: []string{"deploy}\n  - {from: deploy", "deploy, when: sum <= 10}\n  - {from: measure, to: END}\n  - {from: deploy"},
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

// uncheckedMessage begins what is said of a policy in a file with errors.
const uncheckedMessage = "this policy is not checked, because "

// uncheckedPolicies says of each policy that an error kept it from being checked.
func (f *facts) uncheckedPolicies(because *spec.Diagnostic) {
	rule := policyUndecided()
	f.rule = &rule
	for i := range f.graph.Policies {
		if because == nil {
			f.report(f.graph.Policies[i].Span, uncheckedMessage+"the graph lacks what it speaks of")
			continue
		}
		d := f.report(f.graph.Policies[i].Span, uncheckedMessage+"of an error at %s: %s [%s]", subgraph.LineOf(*because), because.Message, because.Rule)
		d.Related = append(d.Related, spec.Related{File: because.File, Span: because.Span, Message: "the error is here"})
	}
}

// WithoutEchoes leaves out that policies are not checked where the error that keeps them
// from it is among the findings, which says as much.
func WithoutEchoes(found spec.Diagnostics) spec.Diagnostics {
	type place struct {
		file *spec.File
		span spec.Span
	}
	shown := map[place]bool{}
	for i := range found {
		if found[i].Rule != policyUndecided().Name {
			shown[place{found[i].File, found[i].Span}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool {
		return strings.HasPrefix(d.Message, uncheckedMessage) && len(d.Related) > 0 && shown[place{d.Related[0].File, d.Related[0].Span}]
	})
}

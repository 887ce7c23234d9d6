// policy-kept: it is proven that every run keeps a policy.

package lint

import "github.com/graphrun/graphrun/spec"

func policyKept() Rule {
	return Rule{
		Name: "policy-kept", Severity: spec.Info, Off: true, needs: needAll,
		Summary: "it is proven that every run keeps a policy",
		Doc: "Every policy is one of three: proven, refuted (policy-violated) or undecided (policy-undecided). Of those that are proven nothing is said unless it is asked for: by validate --explain-policies, which lists all, or by turning this rule on. " +
			"The proof is the shape of the graph, whatever its conditions and results come to, or that each run was tried that inputs, results and the order in which branches get on allow.",
		Bad: `graphrun: v1
name: release
start: build
policies:
  - {require: approve, before: deploy}
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
edges:
  - {from: build, to: approve}
  - {from: approve, to: deploy}
  - {from: deploy, to: END}
`,
		Good: `graphrun: v1
name: release
start: build
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
edges:
  - {from: build, to: approve}
  - {from: approve, to: deploy}
  - {from: deploy, to: END}
`,
		check: func(f *facts) {
			for _, p := range f.kept {
				how := "each run was tried that inputs, results and their order allow"
				switch {
				case f.obeys(&p):
					how = "the shape of the graph keeps it"
				case f.countsTo(&p):
					how = "limits and conditions on visits and steps keep it"
				}
				f.report(p.at.Span, "every run keeps this policy: %s", how)
			}
		},
	}
}

// policy-kept: it is proven that every run keeps a policy.

package lint

import (
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func policyKept() Rule {
	return Rule{
		Name: "policy-kept", Group: "policies", Severity: spec.Info, Off: true, needs: needAll,
		Summary: "it is proven that every run keeps a policy",
		Doc: "Every policy is one of three: proven, refuted (policy-violated) or undecided (policy-undecided). Of those that are proven nothing is said unless it is asked for: by validate --explain-policies, which lists all, or by turning this rule on. " +
			"The proof is the shape of the graph, whatever its conditions and results come to; or the conditions that have to hold on every path that can be taken; or that each run was tried that inputs, results and the order in which branches get on allow.",
		Bad:    approved,
		change: []string{"policies:\n  - {require: approve, before: deploy}\n", ""},
		check: func(f *facts) {
			for i := range f.kept {
				p := &f.kept[i]
				f.report(p.policy.at.Span, "every run keeps this policy: %s", p.how)
			}
			for _, e := range f.elsewhere() {
				if e.meant == "" {
					f.report(e.name.Span, "this policy of a shared file asks nothing of this graph, which has no node %q", e.name.Value)
				}
			}
		},
	}
}

// absent is a policy of a shared file that asks nothing of the graph, which lacks the
// place that it speaks of; meant is the node whose name is near.
type absent struct {
	name  spec.Text
	meant string
}

// elsewhere lists the policies of shared files that are about other graphs.
func (f *facts) elsewhere() []absent {
	var out []absent
	for i := range f.graph.Elsewhere {
		name := f.lacking(&f.graph.Elsewhere[i])
		out = append(out, absent{name, suggest.Closest(name.Value, f.nodeNames())})
	}
	return out
}

// lacking is the first node that a policy names and the graph lacks; the place where it
// holds comes before what it asks there.
func (f *facts) lacking(policy *spec.Value) spec.Text {
	for _, words := range policyWords() {
		for _, word := range []string{words[1], words[0]} {
			v := policy.Get(word)
			if v != nil && v.Kind == spec.String && word != "never" && v.Text.Value != spec.END && f.graph.Node(v.Text.Value) == nil {
				return v.Text
			}
		}
	}
	return policy.Text
}

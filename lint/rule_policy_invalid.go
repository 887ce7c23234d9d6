// policy-invalid: a policy is none, or speaks of what the graph doesn't have.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func policyInvalid() Rule {
	return Rule{
		Name: "policy-invalid", Group: "policies", Severity: spec.Error, needs: needNode,
		Summary: "a policy lacks a half, names a node that does not exist, or asks one node to come before itself",
		Doc: "A policy has two halves: require and before, forbid and after, reach and from, max_visits and node, never and at. Policies speak of nodes of their own graph; END may stand where a path ends. A policy that nothing can keep or break guards nothing. " +
			"extends names a file of policies, which must be there and must not lead back to itself; a policy of such a file is about the graphs that have its place, and what it requires there must be a node.",
		Good:   approved,
		change: []string{"require: approve", "require: aprove"},
		check:  checkPolicyInvalid,
	}
}

func checkPolicyInvalid(f *facts) {
	names := f.nodeNames()
	const most = 12
	list := strings.Join(names[:min(most, len(names))], ", ")
	for _, p := range f.policies(func(name spec.Text, end bool) {
		what := "is no node of this graph"
		if name.Value == spec.END && !end {
			what = "can't stand here"
		}
		d := f.report(name.At(0, len(name.Value)), "%q %s; nodes are %s", name.Value, what, list)
		d.Suggestion = suggest.Closest(name.Value, names)
	}) {
		if p.kind == "require" && p.subject == p.place {
			f.report(p.at.Span, "%q can't be required before itself", f.Name(p.subject))
		}
	}
}

// nodeNames are the nodes' names, sorted.
func (f *facts) nodeNames() []string {
	names := make([]string, len(f.graph.Nodes))
	for i, n := range f.graph.Nodes {
		names[i] = n.ID.Value
	}
	slices.Sort(names)
	return names
}

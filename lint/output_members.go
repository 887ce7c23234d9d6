// template-missing, continued: members that a declared output lacks.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// outputMember reports a read of a member that the output schema of a node does not
// list. A model gives what it was asked for; of others, which may give more than they
// say, only a name that is nearly one of the schema's is reported.
func (f *facts) outputMember(u *dataflow.Use, r eval.Read) {
	n, path, name := f.memberRead(u, r)
	if n == nil {
		return
	}
	names, open := members(n)
	if !open || slices.Contains(names, name) {
		return
	}
	near := suggest.Closest(name, names)
	if near == "" && !isModel(n) {
		return
	}
	d := f.report(u.SpanOfMember(path, name), "the output schema of %q has no member %q; declare it there, or say additionalProperties: true", n.ID.Value, name)
	d.Suggestion = near
}

// memberRead is the node whose output's member is read, with the path to it and its
// name; nil where something else is read.
func (f *facts) memberRead(u *dataflow.Use, r eval.Read) (n *spec.Node, path, name string) {
	switch p := r.Path; {
	case p[0] == "output" && len(p) > 1 && (u.Moment == dataflow.After || u.Moment == dataflow.OnEdge):
		if u.Edge >= 0 && f.graph.Edges[u.Edge].Condition == "on_failure" {
			return nil, "", "" // there is no output
		}
		return f.graph.Nodes[u.Node], "output.", p[1]
	case p[0] == "nodes" && len(p) > 3 && p[2] == "output":
		return f.graph.Node(p[1]), strings.Join(p[:3], ".") + ".", p[3]
	}
	return nil, "", ""
}

// members lists the members of a node's declared output; not open when the schema
// says itself whether there are others, so that its types tell.
func members(n *spec.Node) (names []string, open bool) {
	if n.Each.IsSet() {
		return nil, false
	}
	return membersOf(domain.OutputSchema(n))
}

// membersOf is members of any schema.
func membersOf(schema map[string]any) (names []string, open bool) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		return nil, false
	}
	for key := range schema {
		switch key {
		case "type", "properties", "required", "title", "description", "examples", "default", "$schema", "$id", "$comment":
		default:
			return nil, false
		}
	}
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, true
}

// missing-model: a node or a decision needs a model and none is declared.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func missingModel() Rule {
	return Rule{
		Name: "missing-model", Group: "models", Severity: spec.Error, needs: needNode,
		Summary: "a model node or a decision has no model",
		Doc: "A node that calls a model takes the one it names, by a role of models or as provider/name, else the role default; decisions take the role router, judges the role judge, and both fall back to default; a decision with a fallback edge does without. " +
			"Declare the role, or at least models: {default: provider/name}. A decision with an edge marked fallback can do without.",
		Bad: `graphrun: v1
name: ask
start: ask
output: output
nodes:
  ask: {kind: llm, prompt: "Why is the sky blue?", timeout: 1m}
edges:
  - {from: ask, to: END}
`,
		change: []string{"output: output\n", "output: output\nmodels: {default: openai/gpt-6-luna}\n"},
		check:  checkMissingModel,
	}
}

func checkMissingModel(f *facts) {
	for _, n := range f.graph.Nodes {
		if !isModel(n) {
			continue
		}
		f.model(text(n, "model"), "default", n.ID, "node "+quoteKey(n.ID.Value))
		if judge := n.Field("judge"); judge != nil && judge.Kind == spec.Map {
			at := n.ID
			for _, field := range n.Fields {
				if field.Key.Value == "judge" {
					at = field.Key
				}
			}
			named := spec.Text{}
			if v := judge.Get("model"); v != nil && v.Kind == spec.String {
				named = v.Text
			}
			f.model(named, "judge", at, "the judge of "+quoteKey(n.ID.Value))
		}
	}
	for _, d := range f.decisions() {
		if len(d.edges) > 1 && !d.fallback { // one alone needs no call; without a model the fallback fires
			from := d.edges[0].From
			f.model(spec.Text{}, "router", from, "the decision at "+quoteKey(from.Value))
		}
	}
}

// model reports a model that nothing declares: named is what the file says,
// role what it means when it says nothing.
func (f *facts) model(named spec.Text, role string, at spec.Text, what string) {
	if strings.Contains(named.Value, "/") || strings.Contains(named.Value, "{{") || withProvider(named.Value) != "" && f.roles()[named.Value] == nil {
		return // rule unknown-model-provider
	}
	if named.IsSet() {
		role, at = named.Value, named
	}
	roles := f.roles()
	if roles[role] != nil {
		return
	}
	near := ""
	if named.IsSet() && role != "router" && role != "judge" && role != "compact" && role != "default" {
		near = suggest.Closest(role, keysOf(f.graph.Models))
	}
	if roles["default"] != nil && near == "" {
		return
	}
	if named.IsSet() {
		f.report(at.At(0, len(at.Value)), "%s wants the model role %q, which models doesn't declare", what, role).Suggestion = near
		return
	}
	f.report(at.At(0, len(at.Value)), "%s has no model; declare models: {%s: provider/name}", what, role)
}

// roles are the declared roles of models.
func (f *facts) roles() map[string]*spec.Value {
	out := make(map[string]*spec.Value, len(f.graph.Models))
	whole := f.graph.Whole() // a graph within a file takes the models of those around it
	for i := range whole.Models {
		out[whole.Models[i].Key.Value] = &whole.Models[i].Value
	}
	for i := range f.graph.Models {
		out[f.graph.Models[i].Key.Value] = &f.graph.Models[i].Value
	}
	return out
}

// What a node hands to a subgraph or a tool, and what it takes from it. The
// findings belong to the rules about state keys, fields and types.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// given is a value that a node hands over under a name.
type given struct {
	name  spec.Text
	value *spec.Value
	bound *bind.Value
	// expr says that the value is computed, even if it didn't compile.
	expr bool
}

// givens lists the entries of a map among a node's fields.
func (f *facts) givens(n *spec.Node, field string) []given {
	v := n.Field(field)
	if v == nil {
		return nil
	}
	config := f.bound.Nodes[n.Index].Config
	at := slices.IndexFunc(config, func(b bind.Field) bool { return b.Name == field })
	out := make([]given, len(v.Fields))
	for i := range v.Fields {
		out[i] = given{name: v.Fields[i].Key, value: &v.Fields[i].Value}
		out[i].expr = field == "with" && v.Fields[i].Value.Kind == spec.String || strings.Contains(v.Fields[i].Value.Text.Value, "{{")
		if at < 0 || config[at].Value.IsConst() {
			continue
		}
		if fields := config[at].Value.Fields(); i < len(fields) && !fields[i].Value.IsConst() {
			out[i].bound = &fields[i].Value
		}
	}
	return out
}

// checkChildKeys reports names that a subgraph's state doesn't have.
func checkChildKeys(f *facts) {
	for _, n := range f.graph.Nodes {
		g := f.childOf(n)
		if g == nil || !g.StrictState {
			continue
		}
		names := make([]string, len(g.State))
		for i, key := range g.State {
			names[i] = key.Name.Value
		}
		slices.Sort(names)
		for _, in := range f.givens(n, "with") {
			if g.Key(in.name.Value) == nil {
				d := f.report(in.name.At(0, len(in.name.Value)), "the subgraph %q has no state key %q", text(n, "graph").Value, in.name.Value)
				d.Suggestion = suggest.Closest(in.name.Value, names)
			}
		}
		f.childState(n, g, names)
	}
}

// childType is the type of what a subgraph yields. Names that its state lacks
// are left to checkChildKeys.
func (f *facts) childType(n *spec.Node) (eval.Type, bool) {
	g := f.childOf(n)
	if g == nil {
		return eval.Type{}, false
	}
	keys := make(map[string]eval.Type, len(g.State))
	for _, key := range g.State {
		keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	output := f.subgraphs().Load(f.graph, "", text(n, "graph").Value).Output
	return bind.ChildResult(output, eval.Object(keys, true)), true
}

// childState checks reads of output.state.key after a subgraph.
func (f *facts) childState(n *spec.Node, g *spec.Graph, names []string) {
	x := f.uses()
	look := func(uses []dataflow.Use) {
		for i := range uses {
			u := &uses[i]
			for _, r := range u.Program.Reads() {
				if u.Moment == dataflow.Before || len(r.Path) < 3 || r.Path[0] != "output" || r.Path[1] != "state" || g.Key(r.Path[2]) != nil {
					continue
				}
				at := u.SpanOfMember("output.state.", r.Path[2])
				d := f.report(at, "the subgraph %q has no state key %q", text(n, "graph").Value, r.Path[2])
				if at != u.Span() {
					d.Suggestion = suggest.Closest(r.Path[2], names)
				}
			}
		}
	}
	look(x.OfNode(n.Index))
	for _, i := range f.edgesOut()[n.Index] {
		look(x.OfEdge(i))
	}
}

// checkGivenFields reports what a subgraph or a tool requires and is not given.
func checkGivenFields(f *facts) {
	for _, n := range f.graph.Nodes {
		if g := f.childOf(n); g != nil {
			have := f.givens(n, "with")
			for _, key := range g.State {
				if key.Required && !slices.ContainsFunc(have, func(in given) bool { return in.name.Value == key.Name.Value }) {
					at := text(n, "graph")
					f.report(at.At(0, len(at.Value)), "the subgraph requires %q; give it under with", key.Name.Value)
				}
			}
		}
		f.toolArguments(n)
	}
}

// parameters is the schema of the arguments of a tool node's tool.
func (f *facts) parameters(n *spec.Node) map[string]any {
	if n.Kind.Value != "tool" {
		return nil
	}
	t := f.declaredTool(text(n, "tool").Value)
	if t == nil {
		return nil
	}
	if v := t.Get("parameters"); v != nil {
		data, _ := v.Data().(map[string]any)
		return data
	}
	if v := t.Get("graph"); v != nil && v.Kind == spec.String {
		if c := f.subgraphs().Load(f.graph, "", v.Text.Value); c != nil && c.Graph != nil {
			return inputSchema(c.Graph)
		}
	}
	return nil
}

// inputSchema is what a graph may be given.
func inputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, key := range g.State {
		properties[key.Name.Value] = key.Schema
		if key.Required {
			required = append(required, key.Name.Value)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": !g.StrictState}
}

func (f *facts) toolArguments(n *spec.Node) {
	params := f.parameters(n)
	if args := n.Field("args"); params == nil || args != nil && args.Kind != spec.Map {
		return
	}
	required, _ := params["required"].([]any)
	have := f.givens(n, "args")
	for _, name := range required {
		name, ok := name.(string)
		if ok && !slices.ContainsFunc(have, func(in given) bool { return in.name.Value == name }) {
			at := text(n, "tool")
			f.report(at.At(0, len(at.Value)), "the tool requires the argument %q; give it under args", name)
		}
	}
	properties, _ := params["properties"].(map[string]any)
	if params["additionalProperties"] != false {
		return
	}
	for _, in := range have {
		if _, known := properties[in.name.Value]; !known {
			f.report(in.name.Span, "the tool has no argument %q", in.name.Value)
		}
	}
}

// checkGivenTypes reports values of a type that a subgraph's key or a tool's
// argument can't hold.
func checkGivenTypes(f *facts) {
	for _, n := range f.graph.Nodes {
		if g := f.childOf(n); g != nil {
			for _, in := range f.givens(n, "with") {
				if key := g.Key(in.name.Value); key != nil && dataflow.Replaces(key) {
					f.givenType(&in, key.Schema, "state key \""+in.name.Value+"\" of the subgraph")
				}
			}
		}
		properties, _ := f.parameters(n)["properties"].(map[string]any)
		for _, in := range f.givens(n, "args") {
			if want, ok := properties[in.name.Value].(map[string]any); ok {
				f.givenType(&in, want, "argument \""+in.name.Value+"\" of the tool")
			}
		}
	}
}

// withArticle names one value of a type.
func withArticle(t eval.Type) string {
	if name := t.String(); strings.ContainsRune("aio", rune(name[0])) {
		return "an " + name
	}
	return "a " + t.String()
}

func (f *facts) givenType(in *given, want map[string]any, what string) {
	var values []any
	switch {
	case in.bound != nil:
		if typ := eval.FromSchema(want); !typ.Accepts(in.bound.Type()) {
			f.report(in.value.Span, "the value is %s, but %s holds %s", withArticle(in.bound.Type()), what, withArticle(typ))
			return
		}
		values = in.bound.Constants()
	case !in.expr:
		values = []any{in.value.Data()}
	}
	compiled, err := schema.Compile(want)
	if err != nil {
		return
	}
	for _, value := range values {
		if err := compiled.Check(compiled.Normalise(value)); err != nil {
			f.report(in.value.Span, "%s: %v", what, err)
			return
		}
	}
}

// What nodes hand to subgraphs and tools, and take from them: parts of type-mismatch,
// unknown-state-key and missing-field.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// given is a value that a node hands over under a name.
type given struct {
	name     spec.Text
	value    *spec.Value
	bound    *bind.Value // nil for a constant
	computed bool        // also if it didn't compile
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
		value := &v.Fields[i].Value
		out[i] = given{name: v.Fields[i].Key, value: value, computed: field == "with" && value.Kind == spec.String || strings.Contains(value.Text.Value, "{{")}
		if at < 0 || config[at].Value.IsConst() {
			continue
		}
		if fields := config[at].Value.Fields(); i < len(fields) && !fields[i].Value.IsConst() {
			out[i].bound = &fields[i].Value
		}
	}
	return out
}

// childType returns the type of a subgraph's result. Names that its state lacks are left to
// checkChildKeys.
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

// checkChildKeys reports names that a subgraph's state does not have, under with and in
// output.state.name.
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
		report := func(name string, at, whole spec.Span) {
			if g.Key(name) != nil {
				return
			}
			d := f.report(at, "the subgraph %q has no state key %q", text(n, "graph").Value, name)
			if at != whole { // else the suggestion would replace more than the name
				d.Suggestion = suggest.Closest(name, names)
			}
		}
		for _, in := range f.givens(n, "with") {
			report(in.name.Value, in.name.At(0, len(in.name.Value)), spec.Span{})
		}
		for _, u := range f.uses().All {
			if u.Node != n.Index || u.Moment == dataflow.Before {
				continue
			}
			for _, r := range u.Program.Reads() {
				if len(r.Path) > 2 && r.Path[0] == "output" && r.Path[1] == "state" {
					report(r.Path[2], u.SpanOfMember("output.state.", r.Path[2]), u.Span())
				}
			}
		}
	}
}

// checkGivenFields reports what a subgraph or a tool requires and is not given.
func checkGivenFields(f *facts) {
	for _, n := range f.graph.Nodes {
		isGiven := func(field, name string) bool {
			return slices.ContainsFunc(f.givens(n, field), func(in given) bool { return in.name.Value == name })
		}
		if g := f.childOf(n); g != nil {
			for _, key := range g.State {
				if at := text(n, "graph"); key.Required && !isGiven("with", key.Name.Value) {
					f.report(at.At(0, len(at.Value)), "the subgraph requires %q; give it under with", key.Name.Value)
				}
			}
		}
		params := f.parameters(n)
		if args := n.Field("args"); params == nil || args != nil && args.Kind != spec.Map {
			continue
		}
		required, _ := params["required"].([]any)
		for _, name := range required {
			name, ok := name.(string)
			if at := text(n, "tool"); ok && !isGiven("args", name) {
				f.report(at.At(0, len(at.Value)), "the tool requires the argument %q; give it under args", name)
			}
		}
		if params["additionalProperties"] != false {
			continue
		}
		properties, _ := params["properties"].(map[string]any)
		for _, in := range f.givens(n, "args") {
			if _, known := properties[in.name.Value]; !known {
				f.report(in.name.Span, "the tool has no argument %q", in.name.Value)
			}
		}
	}
}

// parameters returns the schema of the arguments of a tool node's tool, or nil.
func (f *facts) parameters(n *spec.Node) map[string]any {
	if n.Kind.Value != "tool" {
		return nil
	}
	t := f.declaredTool(text(n, "tool").Value)
	if v := t.Get("parameters"); v != nil {
		data, _ := v.Data().(map[string]any)
		return data
	}
	v := t.Get("graph")
	if v == nil || v.Kind != spec.String {
		return nil
	}
	c := f.subgraphs().Load(f.graph, "", v.Text.Value)
	if c == nil || c.Graph == nil {
		return nil
	}
	properties, required := map[string]any{}, []any{}
	for _, key := range c.Graph.State {
		properties[key.Name.Value] = key.Schema
		if key.Required {
			required = append(required, key.Name.Value)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": !c.Graph.StrictState}
}

// checkTypes reports values that a subgraph's key, a tool's argument, or the answer of a
// person can't hold.
func checkTypes(f *facts) {
	for _, n := range f.graph.Nodes {
		f.checkTakenValues(n)
		if g := f.childOf(n); g != nil {
			for _, in := range f.givens(n, "with") {
				if key := g.Key(in.name.Value); key != nil && dataflow.Replaces(key) {
					f.checkGiven(&in, key.Schema, "state key \""+in.name.Value+"\" of the subgraph")
				}
			}
		}
		properties, _ := f.parameters(n)["properties"].(map[string]any)
		for _, in := range f.givens(n, "args") {
			if want, ok := properties[in.name.Value].(map[string]any); ok {
				f.checkGiven(&in, want, "argument \""+in.name.Value+"\" of the tool")
			}
		}
		f.checkDefault(n)
	}
}

func (f *facts) checkGiven(in *given, want map[string]any, what string) {
	var values []any
	switch {
	case in.bound != nil:
		if typ := eval.FromSchema(want); !typ.Accepts(in.bound.Type()) {
			f.report(in.value.Span, "the value is %s, but %s holds %s", withArticle(in.bound.Type()), what, withArticle(typ))
			return
		}
		values = in.bound.Constants()
	case !in.computed:
		values = []any{in.value.Data()}
	}
	f.checkValues(values, want, in.value.Span, what)
}

// checkValues reports the first value that a schema refuses.
func (f *facts) checkValues(values []any, want map[string]any, at spec.Span, what string) {
	compiled, err := schema.Compile(want)
	if err != nil {
		return // reported where it stands
	}
	for _, value := range values {
		if err := compiled.Check(compiled.Normalise(value)); err != nil {
			f.report(at, "%s: %v", what, err)
			return
		}
	}
}

// checkTakenValues reports values of an enum, of a subgraph's key or of a key that no
// condition reads, that the key which takes them refuses. The default is left out, since
// something may always replace it.
func (f *facts) checkTakenValues(n *spec.Node) {
	for _, u := range f.uses().OfNode(n.Index) {
		write := slices.IndexFunc(f.access()[n.Index].Writes, func(w dataflow.Write) bool { return w.Value == u.Program })
		if write < 0 || u.Program.Tree().Op != eval.TreePath {
			continue
		}
		to := f.graph.State[f.access()[n.Index].Writes[write].Key]
		if !dataflow.Replaces(to) {
			continue
		}
		path := u.Program.Tree().Path
		from := f.graph.Key(path[0])
		isWriter := func(n *spec.Node) bool { return n.Kind.Value != "set" }
		isCondition := func(u dataflow.Use) bool { return u.Field == "when" && dataflow.ReadsKey(u.Program, path[0]) }
		if from != nil && (len(path) > 1 || !from.Required && !slices.ContainsFunc(f.writersOf()[path[0]], isWriter) || slices.ContainsFunc(f.uses().All, isCondition)) {
			continue
		}
		if g := f.childOf(n); from == nil && g != nil {
			from = childKey(g, path)
		}
		if from == nil {
			continue
		}
		values, _ := domain.Literals(from.Schema)
		values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil || from.Default != nil && v == from.Default.Data() })
		f.checkValues(values, to.Schema, u.Span(), "state key "+strconv.Quote(to.Name.Value))
	}
}

// childKey returns the key of a subgraph that output.state.name or output.output reads, or nil.
func childKey(g *spec.Graph, path []string) *spec.StateKey {
	switch {
	case len(path) < 2 || path[0] != "output":
		return nil
	case path[1] == "state" && len(path) == 3:
		return g.Key(path[2])
	case path[1] != "output":
		return nil
	}
	out := g.Output
	for _, name := range path[2:] {
		out = out.Get(name)
	}
	if out == nil || !out.IsScalar() {
		return nil
	}
	return g.Key(strings.TrimSpace(out.Text.Value))
}

// withArticle names one value of a type.
func withArticle(t eval.Type) string {
	if name := t.String(); strings.ContainsRune("aio", rune(name[0])) {
		return "an " + name
	}
	return "a " + t.String()
}

// checkDefault reports the answer for an absent person if nobody may give it.
func (f *facts) checkDefault(n *spec.Node) {
	value, choices, doc := n.Field("default"), n.Field("choices"), n.Field("schema")
	switch {
	case n.Kind.Value != "human" || value == nil:
	case choices != nil && choices.Kind == spec.List:
		legal := func(choice spec.Value) bool {
			return strings.Contains(choice.Text.Value, "{{") || !choice.IsScalar() || choice.Data() == value.Data()
		}
		if !value.IsScalar() || !slices.ContainsFunc(choices.Items, legal) {
			words := make([]string, len(choices.Items))
			for i := range choices.Items {
				words[i] = domain.Literal(choices.Items[i].Data())
			}
			f.report(value.Span, "the default of %q is %s, which is no choice; the choices are %s", n.ID.Value, domain.Literal(value.Data()), strings.Join(words, ", "))
		}
	case doc != nil:
		data, _ := doc.Data().(map[string]any)
		compiled, err := schema.Compile(data)
		if err != nil {
			return // reported where it stands
		}
		if err := compiled.Check(compiled.Normalise(value.Data())); err != nil {
			f.report(value.Span, "the default of %q is no legal answer: %v", n.ID.Value, err)
		}
	}
}

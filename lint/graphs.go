// What nodes and tools give to each other and to subgraphs: subgraph-missing, subgraph-cycle, parts
// of type-mismatch, unknown-state-key, missing-field and invalid-value.

package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func checkSubgraphMissing(f *facts) {
	reported := map[*subgraph.Graph]bool{}
	for _, r := range subgraph.References(f.graph) {
		c := f.subgraphs().Load(f.graph, "", r.Value)
		if c == nil || c.Problem == "" || reported[c] {
			continue
		}
		d := f.report(r.At(0, len(r.Value)), "%q %s", r.Value, c.Problem)
		if reported[c] = c.Place != nil; reported[c] { // a problem inside the file is reported once
			d.Related = append(d.Related, *c.Place)
		}
	}
}

func checkSubgraphCycle(f *facts) {
	own := f.graph.Ref()
	for _, r := range subgraph.References(f.graph) {
		chain := f.findNesting(f.graph, "", r.Value, []string{own}, map[string]bool{})
		if chain == nil {
			continue
		}
		last := chain[len(chain)-1]
		switch {
		case !slices.Contains(chain[:len(chain)-1], last):
			f.report(r.At(0, len(r.Value)), "%s", spec.TooDeepMessage(r.Value))
			continue
		case last != own && strings.HasPrefix(last, "#"):
			continue // a cycle of other graphs of the file: it is reported there
		}
		for i, name := range chain {
			if name == "" || name[0] == '#' {
				chain[i] = f.ownFile() + name
			}
		}
		f.report(r.At(0, len(r.Value)), "%q never ends: %s", r.Value, strings.Join(chain, " → "))
	}
}

// ownFile returns the name of the graph's file without its folder.
func (f *facts) ownFile() string {
	return path.Base(strings.ReplaceAll(f.graph.File.Name, "\\", "/"))
}

// findNesting follows a reference of a graph, and those of the graph that it names, until one
// leads back to a graph of the chain, or the chain is too long. It returns that chain, or nil.
func (f *facts) findNesting(g *spec.Graph, file, name string, chain []string, done map[string]bool) []string {
	c := f.subgraphs().Load(g, file, name)
	if c == nil {
		return nil
	}
	at := c.Path // or "#name" for a graph within this file
	if at == f.ownFile() {
		at = ""
	}
	isOpen := slices.Contains(chain, at)
	if !isOpen && (c.Graph == nil || done[at]) {
		return nil
	}
	done[at] = true
	chain = append(slices.Clip(chain), at)
	if isOpen || len(chain) > spec.MaxDepth {
		return chain
	}
	for _, r := range subgraph.References(c.Graph) {
		if found := f.findNesting(c.Graph, c.File, r.Value, chain, done); found != nil {
			return found
		}
	}
	return nil
}

// checkFinalPeople reports subgraphs in finally that ask a person. spec.Check reports the nodes.
func checkFinalPeople(f *facts) {
	for _, n := range f.graph.Nodes {
		if !n.Final || n.Kind.Value != "graph" {
			continue
		}
		c := f.subgraphs().Load(f.graph, "", text(n, "graph").Value)
		if who, file := f.findPerson(c, map[*subgraph.Graph]bool{nil: true}); who != nil {
			d := f.report(n.ID.Span, "%q can't run a subgraph that asks a person (%q): it runs in finally, when the end of the run is decided", n.ID.Value, who.ID.Value)
			d.Related = append(d.Related, spec.Related{File: file, Span: who.Kind.Span, Message: "it is asked here"})
		}
	}
}

// findPerson returns the first node that asks a person in a subgraph or below it, or nil, and its file.
func (f *facts) findPerson(c *subgraph.Graph, seen map[*subgraph.Graph]bool) (who *spec.Node, file *spec.File) {
	if seen[c] || c.Graph == nil {
		return nil, nil
	}
	seen[c] = true
	for _, n := range c.Graph.Nodes {
		if n.Kind.Value == "human" {
			return n, c.Graph.File
		} else if n.Kind.Value == "graph" && who == nil {
			who, file = f.findPerson(f.subgraphs().Load(c.Graph, c.File, text(n, "graph").Value), seen)
		}
	}
	return who, file
}

// argument is a named value that a node hands to a subgraph or a tool.
type argument struct {
	name     spec.Text
	value    *spec.Value
	bound    *bind.Value // nil for a constant
	computed bool        // also if it didn't compile
}

// constants lists the values, as far as they are known.
func (in *argument) constants() []any {
	switch {
	case in.bound != nil:
		return in.bound.Constants()
	case in.computed:
		return nil
	}
	return []any{in.value.Data()}
}

// boundField returns the bound value of a field of a node, or nil.
func (f *facts) boundField(n *spec.Node, field string) *bind.Value {
	return dataflow.FindField(f.bound.Nodes[n.Index].Config, field)
}

// listArguments lists the entries of a map among a node's fields.
func (f *facts) listArguments(n *spec.Node, field string) []argument {
	v := n.Field(field)
	if v == nil {
		return nil
	}
	var fields []bind.Field
	if value := f.boundField(n, field); value != nil {
		fields = value.Fields
	}
	out := make([]argument, len(v.Fields))
	for i := range v.Fields {
		value := &v.Fields[i].Value
		out[i] = argument{name: v.Fields[i].Key, value: value, computed: field == "with" && value.Kind == spec.String || strings.Contains(value.Text.Value, "{{")}
		if i < len(fields) && !fields[i].Value.IsConst() {
			out[i].bound = &fields[i].Value
		}
	}
	return out
}

// childType returns the type of a subgraph's result. checkChildKeys reports unknown names in it.
func (f *facts) childType(n *spec.Node) (eval.Type, bool) {
	c := f.child(n)
	if c == nil {
		return eval.Type{}, false
	}
	keys := make(map[string]eval.Type, len(c.Graph.State))
	for _, key := range c.Graph.State {
		keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	return bind.ChildResult(c.Output(), eval.Object(keys, true)), true
}

// checkChildKeys reports unknown keys of a subgraph's state, under with and in output.state.name.
func checkChildKeys(f *facts) {
	for _, n := range f.graph.Nodes {
		c := f.child(n)
		if c == nil || !c.Graph.StrictState {
			continue
		}
		g := c.Graph
		names := collect(g.State, func(key *spec.StateKey) string { return key.Name.Value })
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
		for _, in := range f.listArguments(n, "with") {
			report(in.name.Value, in.name.At(0, len(in.name.Value)), spec.Span{})
		}
		for _, u := range f.uses().All {
			if u.Node != n.Index || u.Moment == dataflow.Before {
				continue
			}
			for _, r := range u.Program.Reads {
				if len(r.Path) > 2 && r.Path[0] == "output" && r.Path[1] == "state" {
					report(r.Path[2], u.SpanOfMember("output.state.", r.Path[2]), u.Span())
				}
			}
		}
	}
}

// callee is the subgraph or the tool that a node calls, with the schema of its input.
type callee struct {
	what, field string // "subgraph" and "with", or "tool" and "args"
	name        spec.Text
	schema      map[string]any // of an object
}

// findCallee returns what a node calls, if its schema is known.
func (f *facts) findCallee(n *spec.Node) (callee, bool) {
	name := text(n, "tool")
	if t := f.declaredTool(name.Value); n.Kind.Value == "tool" && t.Get("parameters") != nil {
		data, ok := t.Get("parameters").Data().(map[string]any)
		return callee{"tool", "args", name, data}, ok
	}
	switch g, field := f.findCalledGraph(n); field {
	case "with":
		return callee{"subgraph", field, text(n, "graph"), inputSchema(g)}, true
	case "args":
		return callee{"tool", field, name, inputSchema(g)}, true
	}
	return callee{}, false
}

// findCalledGraph returns the graph that a node runs as a subgraph or a tool, or nil, and the field
// with its input.
func (f *facts) findCalledGraph(n *spec.Node) (g *spec.Graph, field string) {
	if c := f.child(n); c != nil {
		return c.Graph, "with"
	}
	v := f.declaredTool(text(n, "tool").Value).Get("graph")
	if n.Kind.Value != "tool" || v == nil || v.Kind != spec.String {
		return nil, ""
	}
	if c := f.loadGraph(v.Text.Value); c != nil {
		return c.Graph, "args"
	}
	return nil, ""
}

// inputSchema returns the schema of what may be given to a graph.
func inputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, key := range g.State {
		if properties[key.Name.Value] = key.Schema; !dataflow.Replaces(key) {
			properties[key.Name.Value] = map[string]any{}
		}
		if key.Required {
			required = append(required, key.Name.Value)
		}
	}
	return map[string]any{"properties": properties, "required": required, "additionalProperties": !g.StrictState}
}

// checkArguments reports missing inputs of subgraphs and tools, and unknown arguments of tools.
func checkArguments(f *facts) {
	for _, n := range f.graph.Nodes {
		t, ok := f.findCallee(n)
		if args := n.Field(t.field); !ok || args != nil && args.Kind != spec.Map {
			continue
		}
		givens := f.listArguments(n, t.field)
		required, _ := t.schema["required"].([]any)
		for _, name := range required {
			if !slices.ContainsFunc(givens, func(in argument) bool { return any(in.name.Value) == name }) {
				f.report(t.name.At(0, len(t.name.Value)), "the %s requires %q; give it under %s", t.what, name, t.field)
			}
		}
		properties, _ := t.schema["properties"].(map[string]any)
		for _, in := range givens {
			if _, known := properties[in.name.Value]; !known && t.what == "tool" && t.schema["additionalProperties"] == false {
				f.report(in.name.Span, "the tool has no argument %q", in.name.Value)
			}
		}
	}
}

// checkTypes reports values that a key, an argument of a tool or a person's answer can't hold.
func checkTypes(f *facts) {
	f.checkFailedElements()
	for i := range f.graph.Tools {
		f.checkRequired(f.graph.Tools[i].Value.Get("parameters"))
	}
	for _, n := range f.graph.Nodes {
		f.checkWritten(n)
		f.checkRequired(n.Written("output"))
		f.checkRequired(n.Field("schema"))
		t, _ := f.findCallee(n)
		for _, in := range f.listArguments(n, t.field) {
			if want := domain.Subschema(t.schema, in.name.Value); want != nil {
				f.checkArgument(&in, want, fmt.Sprintf("%q of the %s", in.name.Value, t.what))
			}
		}
		f.checkDefault(n)
		for _, text := range f.waitTimes(n) {
			if !spec.IsDuration(text) {
				f.report(n.Field("for").Span, "%q is not a duration; write one such as 90s, 15m or 24h", text)
			}
		}
		f.checkTimeEnds(n)
	}
}

// checkRequired reports members that a schema requires and does not describe.
func (f *facts) checkRequired(schema *spec.Value) {
	properties, required := schema.Get("properties"), schema.Get("required")
	if properties == nil || required == nil {
		return
	}
	for i := range required.Items {
		if name := required.Items[i].Text; properties.Get(name.Value) == nil {
			names := keysOf(properties.Fields)
			d := f.report(name.Span, "%q is required, but it is not among the properties: %s", name.Value, strings.Join(names, ", "))
			d.Severity, d.Suggestion = spec.Warning, suggest.Closest(name.Value, names)
		}
	}
}

func (f *facts) checkArgument(in *argument, want map[string]any, what string) {
	if typ := eval.FromSchema(want); in.bound != nil && !typ.Accepts(in.bound.Type()) {
		f.report(in.value.Span, "the value is %s, but %s holds %s", in.bound.Type().WithArticle(), what, typ.WithArticle())
		return
	}
	f.checkValues(in.constants(), want, in.value.Span, what, spec.Error)
}

// checkValues reports the first value that a schema refuses, and whether there is one.
func (f *facts) checkValues(values []any, want map[string]any, at spec.Span, what string, severity spec.Severity) bool {
	compiled, err := schema.Compile(want)
	if err != nil {
		return false // reported where it stands
	}
	for _, value := range values {
		if _, err := compiled.Accept(value); err != nil {
			f.report(at, "%s: %v", what, err).Severity = severity
			return true
		}
	}
	return false
}

// checkDefault reports the answer for an absent person if nobody may give it.
func (f *facts) checkDefault(n *spec.Node) {
	value, choices, doc := n.Field("default"), n.Field("choices"), n.Field("schema")
	if n.Kind.Value != "human" || value == nil {
		return
	}
	want, _ := doc.Data().(map[string]any)
	isTemplate := func(choice spec.Value) bool { return strings.Contains(choice.Text.Value, "{{") }
	if choices != nil && choices.Kind == spec.List && !slices.ContainsFunc(choices.Items, isTemplate) {
		want = map[string]any{"enum": choices.Data()}
	}
	f.checkValues([]any{value.Data()}, want, value.Span, fmt.Sprintf("the default of %q is not a valid answer", n.ID.Value), spec.Error)
}

// The rules about calls of models, tools and subgraphs, their arguments, and the labels by which nodes
// choose the next node.

package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func checkDecisionFallback(f *facts) {
	for _, d := range f.listDecisions() {
		if from := d.edges[0].From; len(d.edges) > 1 && !d.fallback {
			f.report(from.Span, "the decision at %q has no fallback; mark one of its edges with fallback: true", from.Value)
		}
	}
}

func checkDecisionSingle(f *facts) {
	for _, d := range f.listDecisions() {
		if e := d.edges[0]; len(d.edges) == 1 {
			f.report(e.To.Span, "the decision at %q has one candidate, %q, which fires without a call", e.From.Value, e.To.Value)
		}
	}
}

// decision is the llm_decide edges of one node.
type decision struct {
	edges    []*spec.Edge
	fallback bool
}

// listDecisions lists the decisions in the order of their nodes.
func (f *facts) listDecisions() (out []decision) {
	for _, edges := range f.Out {
		var d decision
		for _, i := range edges {
			e := f.graph.Edges[i]
			if d.fallback = d.fallback || e.Fallback; e.Condition == "llm_decide" {
				d.edges = append(d.edges, e)
			}
		}
		if len(d.edges) > 0 {
			out = append(out, d)
		}
	}
	return out
}

func checkMissingModel(f *facts) {
	for _, n := range f.graph.Nodes {
		if !isModel(n) {
			continue
		}
		f.checkRole(text(n, "model"), "default", n.ID, "node "+strconv.Quote(n.ID.Value))
		if judge := n.Field("judge"); judge != nil && judge.Kind == spec.Map {
			at := slices.Index(keysOf(n.Fields), "judge")
			f.checkRole(judge.Get("model").Scalar(), "judge", n.Fields[at].Key, "the judge of "+strconv.Quote(n.ID.Value))
		}
	}
	for _, d := range f.listDecisions() {
		if len(d.edges) > 1 && !d.fallback { // one edge needs no call; without a model the fallback fires
			from := d.edges[0].From
			f.checkRole(spec.Text{}, "router", from, "the decision at "+strconv.Quote(from.Value))
		}
	}
}

// checkRole reports a model that nothing declares. Without a name it checks the model of the role.
func (f *facts) checkRole(named spec.Text, role string, at spec.Text, what string) {
	near := ""
	if strings.Contains(named.Value, "/") || strings.Contains(named.Value, "{{") || addProvider(named.Value) != "" && !f.declaresRole(named.Value) {
		return // rule unknown-model-provider
	}
	if named.IsSet() {
		role, at = named.Value, named
	}
	if named.IsSet() && !slices.Contains([]string{"router", "judge", "compact", "default"}, role) {
		near = suggest.Closest(role, keysOf(f.graph.Models))
	}
	switch span := at.At(0, len(at.Value)); {
	case f.declaresRole(role), f.declaresRole("default") && near == "":
	case named.IsSet():
		f.report(span, "%s wants the model role %q, which models doesn't declare", what, role).Suggestion = near
	default:
		f.report(span, "%s has no model; declare models: {%s: provider/name}", what, role)
	}
}

// declaresRole reports whether the graph, or the one around it, declares a role of models.
func (f *facts) declaresRole(name string) bool {
	return valueOf(f.graph.Models, name) != nil || valueOf(f.graph.FileGraph().Models, name) != nil
}

func checkModelProvider(f *facts) {
	known := append([]string{"anthropic", "openai", "scripted"}, keysOf(slices.Concat(f.graph.Providers, f.graph.FileGraph().Providers))...)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, m := range f.graph.Models {
		if m.Value.Kind == spec.String {
			f.checkProvider(m.Value.Text, known, true)
		}
	}
	for _, n := range f.graph.Nodes {
		if isModel(n) {
			f.checkProvider(text(n, "model"), known, false)
			f.checkProvider(n.Field("judge").Get("model").Scalar(), known, false)
		}
	}
}

// checkProvider checks the provider of a model. With whole, a name without one is an error.
func (f *facts) checkProvider(model spec.Text, known []string, whole bool) {
	if !model.IsSet() || strings.Contains(model.Value, "{{") {
		return
	}
	switch name, _, ok := strings.Cut(model.Value, "/"); {
	case !ok && (whole || addProvider(name) != "") && !f.declaresRole(name):
		d := f.report(model.At(0, len(model.Value)), "%q names no provider; write provider/name, where providers are %s", model.Value, strings.Join(known, ", "))
		d.Suggestion = addProvider(name)
	case ok && !slices.Contains(known, name):
		d := f.report(model.At(0, len(name)), "%q is not a provider; known are %s", name, strings.Join(known, ", "))
		d.Suggestion = suggest.Closest(name, known)
	}
}

// addProvider adds the provider to the name of a well-known model, or returns "".
func addProvider(model string) string {
	for _, family := range [][2]string{{"gpt-", "openai/"}, {"chatgpt-", "openai/"}, {"codex-", "openai/"}, {"claude-", "anthropic/"}} {
		if strings.HasPrefix(model, family[0]) {
			return family[1] + model
		}
	}
	return ""
}

func checkUnknownPrice(f *facts) {
	if f.graph.Limits.MaxCostUSD == 0 || f.opts.Price == nil {
		return
	}
	graphs, reported := []*spec.Graph{f.graph}, map[string]bool{}
	for _, n := range f.graph.Nodes {
		if c := f.child(n); c != nil {
			graphs = append(graphs, c.Graph)
		}
	}
	for _, g := range graphs {
		names, _ := bound.Models(g)
		for _, name := range names {
			provider, _, ok := strings.Cut(name, "/")
			if !ok || strings.Contains(name, "{{") || reported[name] {
				continue // not known before the run, or no model at all
			}
			if _, known := bound.Price(g, f.opts.Price, name, 1); !known {
				reported[name] = true
				f.report(f.graph.Limits.Span, "the price of %q is not known, so limits.max_cost_usd can't be kept; give it in providers.%s.prices, or use limits.max_tokens", name, provider)
			}
		}
	}
}

func checkUnknownTool(f *facts) {
	f.checkOfferedTools()
	for _, n := range f.graph.Nodes {
		f.checkTool(text(n, "tool"), false)
		names := listTexts(n.Field("tools"))
		for _, state := range n.Field("loop").Get("states").Entries() {
			names = append(names, listTexts(state.Value.Get("tools"))...)
		}
		for _, name := range names {
			f.checkTool(name, true)
		}
		if prompt := n.Field("prompt"); prompt != nil && isModel(n) {
			for i := range prompt.Items {
				for _, field := range []string{"prompt", "resource"} { // server:name
					server := prompt.Items[i].Get(field).Scalar()
					server.Value, _, _ = strings.Cut(server.Value, ":")
					f.checkTool(server, true)
				}
			}
		}
	}
}

// listTexts returns the texts in a list, or none for nil.
func listTexts(list *spec.Value) (out []spec.Text) {
	if list == nil {
		return nil
	}
	for i := range list.Items {
		if list.Items[i].Kind == spec.String {
			out = append(out, list.Items[i].Text)
		}
	}
	return out
}

// checkTool checks a reference to a tool. With all, a server or server.* is allowed, too.
func (f *facts) checkTool(ref spec.Text, all bool) {
	if !ref.IsSet() || strings.Contains(ref.Value, "{{") {
		return
	}
	name, member, dotted := strings.Cut(ref.Value, ".")
	t := f.declaredTool(name)
	isServer := t.Get("mcp") != nil
	switch {
	case t == nil:
		declared, list := keysOf(f.graph.Tools), "none is declared"
		if slices.Sort(declared); len(declared) > 0 {
			list = "declared are " + strings.Join(declared, ", ")
		}
		f.report(ref.At(0, len(name)), "%q is not a declared tool; %s", name, list).Suggestion = suggest.Closest(name, declared)
	case dotted && !isServer:
		f.report(ref.At(len(name), len(ref.Value)), "%q is one tool and has no %q; only MCP servers have tools of their own", name, member)
	case isServer && !all && (!dotted || member == "*"):
		f.report(ref.At(0, len(ref.Value)), "a tool node calls one tool; name one of the server's, as in %s.tool", name)
	}
}

// checkOfferedTools reports tools that a model may choose but the tools node after it may not call.
func (f *facts) checkOfferedTools() {
	for i := range f.graph.Edges {
		if f.From[i] < 0 || f.To[i] < 0 || f.To[i] == f.End {
			continue
		}
		from, to := f.graph.Nodes[f.From[i]], f.graph.Nodes[f.To[i]]
		if to.Kind.Value != "tools" || to.Field("tools") == nil {
			continue
		}
		allowed := spec.Strings(listTexts(to.Field("tools")))
		for _, tool := range listTexts(from.Field("tools")) {
			server, _, _ := strings.Cut(tool.Value, ".")
			if !slices.Contains(allowed, tool.Value) && !slices.Contains(allowed, server+".*") && !strings.Contains(tool.Value, "{{") {
				f.report(to.Field("tools").Span, "%q may not call %q, which %q offers its model", to.ID.Value, tool.Value, from.ID.Value)
			}
		}
	}
}

// declaredTool returns a tool, or nil.
func (f *facts) declaredTool(name string) *spec.Value { return valueOf(f.graph.Tools, name) }

// checkLabels reports unknown labels among the constants of a goto expression, the choices of a
// person, and the values that the schema of an output allows.
func checkLabels(f *facts) {
	for v, n := range f.graph.Nodes {
		var labels []spec.Text
		switch p := f.bound.Nodes[v].Goto; {
		case p != nil:
			choices, _ := domain.Constants(p.Tree)
			for _, label := range stringsIn(choices) {
				f.checkLabel(n, label, labelSpan(n.Goto, label))
			}
			if strings.TrimSpace(n.Goto.Value) == "output" && n.Kind.Value == "human" {
				labels = listTexts(n.Field("choices"))
			}
		case n.HasEnds && n.OutputSource != nil:
			label := n.OutputSource.Get("properties").Get("goto")
			labels = slices.Concat(listTexts(label.Get("enum")), listTexts(label.Get("items").Get("enum")))
		}
		for _, label := range labels {
			f.checkLabel(n, label.Value, label.At(0, len(label.Value)))
		}
	}
}

// checkLabel reports a label that a node may not choose: none of ends, or no node.
func (f *facts) checkLabel(n *spec.Node, label string, at spec.Span) {
	labels := append(f.listNodeNames(), spec.END)
	if n.HasEnds {
		labels = collect(n.Ends, func(end spec.End) string { return end.Label.Value })
	}
	slices.Sort(labels)
	if !slices.Contains(labels, label) {
		d := f.report(at, "%q is not a label that %q may choose; labels are %s", label, n.ID.Value, strings.Join(labels, ", "))
		d.Suggestion = suggest.Closest(label, labels)
	}
}

// labelSpan returns the position of a label in an expression, or of the whole expression.
func labelSpan(text spec.Text, label string) spec.Span {
	for _, quote := range []string{"'", `"`, "`"} {
		if at := strings.Index(text.Value, quote+label+quote); at >= 0 {
			return text.At(at, at+len(label)+2*len(quote))
		}
	}
	return text.At(0, len(text.Value))
}

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
			continue // the check of that graph reports a cycle among other graphs
		}
		for i, name := range chain {
			if name == "" || name[0] == '#' {
				chain[i] = f.fileName() + name
			}
		}
		f.report(r.At(0, len(r.Value)), "%q never ends: %s", r.Value, strings.Join(chain, " → "))
	}
}

// fileName returns the name of the graph's file without its folder.
func (f *facts) fileName() string {
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
	if at == f.fileName() {
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

// checkPeopleInFinally reports subgraphs in finally that ask a person. spec.Check reports the nodes.
func checkPeopleInFinally(f *facts) {
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

// argument is a named value that a node passes to a subgraph or a tool.
type argument struct {
	name     spec.Text
	value    *spec.Value
	bound    *bind.Value // nil for a constant
	computed bool        // it has an expression, which may not have compiled
}

// constants lists the known values of an argument.
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
	return bind.ChildResultType(c.Output(), eval.Object(keys, true)), true
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
		for u, r := range f.uses().Reads() {
			if u.Node == n.Index && u.Moment != dataflow.Before && len(r.Path) > 2 && r.Path[0] == "output" && r.Path[1] == "state" {
				report(r.Path[2], u.SpanOfMember("output.state.", r.Path[2]), u.Span())
			}
		}
	}
}

// callee is a subgraph or tool that a node calls, with the schema of its input.
type callee struct {
	what, field string // "subgraph" and "with", or "tool" and "args"
	name        spec.Text
	schema      map[string]any // of an object
}

// findCallee returns the subgraph or tool that a node calls, if its schema is known.
func (f *facts) findCallee(n *spec.Node) (callee, bool) {
	name := text(n, "tool")
	if t := f.declaredTool(name.Value); n.Kind.Value == "tool" && t.Get("parameters") != nil {
		data, ok := t.Get("parameters").Data().(map[string]any)
		return callee{"tool", "args", name, data}, ok
	}
	switch g, field := f.findCalledGraph(n); field {
	case "with":
		return callee{"subgraph", field, text(n, "graph"), newInputSchema(g)}, true
	case "args":
		return callee{"tool", field, name, newInputSchema(g)}, true
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

// newInputSchema returns the schema of a graph's input.
func newInputSchema(g *spec.Graph) map[string]any {
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
		f.checkRequiredMembers(f.graph.Tools[i].Value.Get("parameters"))
	}
	for _, n := range f.graph.Nodes {
		f.checkWrites(n)
		f.checkRequiredMembers(n.ValueOf("output"))
		f.checkRequiredMembers(n.Field("schema"))
		t, _ := f.findCallee(n)
		for _, in := range f.listArguments(n, t.field) {
			want, what := domain.Subschema(t.schema, in.name.Value), fmt.Sprintf("%q of the %s", in.name.Value, t.what)
			if typ := eval.FromSchema(want); want != nil && in.bound != nil && !typ.Accepts(in.bound.Type()) {
				f.report(in.value.Span, "the value is %s, but %s holds %s", in.bound.Type().WithArticle(), what, typ.WithArticle())
			} else if want != nil {
				f.checkValues(in.constants(), want, in.value.Span, what, spec.Error)
			}
		}
		f.checkDefault(n)
		for _, text := range f.listWaitTimes(n) {
			if !spec.IsDuration(text) {
				f.report(n.Field("for").Span, "%q is not a duration; write one such as 90s, 15m or 24h", text)
			}
		}
		f.checkTimeEnds(n)
	}
}

// checkRequiredMembers reports members that a schema requires and does not describe.
func (f *facts) checkRequiredMembers(schema *spec.Value) {
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

// checkValues reports the first value that a schema refuses, and whether there is one.
func (f *facts) checkValues(values []any, want map[string]any, at spec.Span, what string, severity spec.Severity) bool {
	compiled, err := schema.Compile(want)
	if err != nil {
		return false // another rule reports the schema
	}
	for _, value := range values {
		if _, err := compiled.Accept(value); err != nil {
			f.report(at, "%s: %v", what, err).Severity = severity
			return true
		}
	}
	return false
}

// checkDefault reports the answer for an absent person if no person could give it.
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

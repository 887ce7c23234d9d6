// The rules about models and tools, and the labels by which nodes choose the next one.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bound"
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
			f.checkRole(modelOfJudge(n), "judge", n.Fields[at].Key, "the judge of "+strconv.Quote(n.ID.Value))
		}
	}
	for _, d := range f.listDecisions() {
		if len(d.edges) > 1 && !d.fallback { // one edge needs no call; without a model the fallback fires
			from := d.edges[0].From
			f.checkRole(spec.Text{}, "router", from, "the decision at "+strconv.Quote(from.Value))
		}
	}
}

// modelOfJudge returns the model that a node names for its judge, or an unset text.
func modelOfJudge(n *spec.Node) spec.Text {
	return n.Field("judge").Get("model").Scalar()
}

// checkRole reports a model that nothing declares. Without a name it checks that of the role.
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
			f.checkProvider(modelOfJudge(n), known, false)
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
	f.checkOffered()
	for _, n := range f.graph.Nodes {
		f.checkTool(text(n, "tool"), false)
		lists := []*spec.Value{n.Field("tools")}
		for _, state := range n.Field("loop").Get("states").Entries() {
			lists = append(lists, state.Value.Get("tools"))
		}
		for _, list := range lists {
			for _, name := range listTexts(list) {
				f.checkTool(name, true)
			}
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

// listTexts returns the texts in a list, which may be nil.
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

// checkOffered reports tools that a model may choose and that the tools node behind it may not call.
func (f *facts) checkOffered() {
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
	labels := append(f.nodeNames(), spec.END)
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

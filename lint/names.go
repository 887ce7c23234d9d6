// Names of tools and of labels: unknown-tool, and parts of unknown-node.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func toolRules() []Rule {
	return []Rule{
		{
			Name: "unknown-tool", Group: "models", Severity: spec.Error, needs: needNode,
			Summary: "a node names a tool that is not declared",
			Doc:     "Tools are declared under tools. A node names one as it is, or a tool of an MCP server as server.tool or server.*; only servers have tools of their own. The resources and prompts that a prompt names are those of a server too. A tools node can call what the model before it is offered.",
			Bad:     single("add", "output: output\ntools:\n  add: {exec: {command: [./add.sh]}, description: Adds two numbers., parameters: {type: object}}\n", "{kind: tool, tool: ad, args: {x: 1}}"),
			change:  []string{"tool: ad,", "tool: add,"},
			check:   checkUnknownTool,
		},
	}
}

func checkUnknownTool(f *facts) {
	f.checkOffered()
	for _, n := range f.graph.Nodes {
		f.checkTool(text(n, "tool"), false)
		lists := []*spec.Value{n.Field("tools")}
		if states := n.Field("loop").Get("states"); states != nil {
			for i := range states.Fields {
				lists = append(lists, states.Fields[i].Value.Get("tools"))
			}
		}
		for _, list := range lists {
			for _, name := range textsOf(list) {
				f.checkTool(name, true)
			}
		}
		if prompt := n.Field("prompt"); prompt != nil && isModel(n) {
			for i := range prompt.Items {
				f.checkServer(prompt.Items[i].Get("prompt"))
				f.checkServer(prompt.Items[i].Get("resource"))
			}
		}
	}
}

// textsOf returns the texts in a list, which may be nil.
func textsOf(list *spec.Value) (out []spec.Text) {
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

// checkTool checks one reference; all allows server.*.
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

// checkOffered reports tools that a model is offered and that a tools node behind it may not
// call.
func (f *facts) checkOffered() {
	for i, e := range f.graph.Edges {
		from, to := f.graph.Node(e.From.Value), f.graph.Node(e.To.Value)
		if from == nil || to == nil || to.Kind.Value != "tools" || to.Field("tools") == nil || f.From[i] < 0 {
			continue
		}
		allowed := collect(textsOf(to.Field("tools")), func(t spec.Text) string { return t.Value })
		for _, tool := range textsOf(from.Field("tools")) {
			server, _, _ := strings.Cut(tool.Value, ".")
			if !slices.Contains(allowed, tool.Value) && !slices.Contains(allowed, server+".*") && !strings.Contains(tool.Value, "{{") {
				f.report(to.Field("tools").Span, "%q may not call %q, which %q offers its model", to.ID.Value, tool.Value, from.ID.Value)
			}
		}
	}
}

// checkServer checks the server of a resource or a prompt, which may be nil.
func (f *facts) checkServer(named *spec.Value) {
	if named == nil || named.Kind != spec.String || strings.HasPrefix(named.Text.Value, "{{") {
		return
	}
	name, _, _ := strings.Cut(named.Text.Value, ":")
	if f.declaredTool(name).Get("mcp") == nil {
		f.report(named.Text.At(0, len(name)), "%q is not a server of tools", name)
	}
}

func (f *facts) declaredTool(name string) *spec.Value {
	if i := slices.Index(keysOf(f.graph.Tools), name); i >= 0 {
		return &f.graph.Tools[i].Value
	}
	return nil
}

// checkLabels reports labels that a node may not choose: constants of its goto expression,
// the choices of a person, and those in the schema of its output.
func checkLabels(f *facts) {
	for v, n := range f.graph.Nodes {
		var labels []spec.Text
		switch p := f.bound.Nodes[v].Goto; {
		case p != nil:
			for _, label := range textsIn(choices(p.Tree())) {
				f.checkLabel(n, label, labelSpan(n.Goto, label))
			}
			if strings.TrimSpace(n.Goto.Value) == "output" && n.Kind.Value == "human" {
				labels = textsOf(n.Field("choices"))
			}
		case n.HasEnds && n.OutputSource != nil:
			label := n.OutputSource.Get("properties").Get("goto")
			labels = slices.Concat(textsOf(label.Get("enum")), textsOf(label.Get("items").Get("enum")))
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

// choices lists the constants that an expression may yield, as far as they stand in it.
func choices(t *eval.Tree) (out []any) {
	parts := t.Args
	switch {
	case t.Op == eval.TreeConst:
		return []any{t.Value}
	case t.Op == eval.TreeChoice:
		parts = parts[1:]
	case t.Op != eval.TreeList && t.Name != "??":
		return nil
	}
	for _, part := range parts {
		out = append(out, choices(part)...)
	}
	return out
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

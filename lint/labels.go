// The labels that goto expressions choose from. The findings belong to the rule
// about nodes.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// checkLabels reports constants of goto expressions that are no label.
func checkLabels(f *facts) {
	for v, n := range f.graph.Nodes {
		p := f.bound.Nodes[v].Goto
		if p == nil {
			f.checkYielded(n)
			continue
		}
		for _, label := range choices(p.Tree(), nil) {
			f.label(n, label, labelSpan(n.Goto, label))
		}
		if strings.TrimSpace(n.Goto.Value) == "output" && n.Kind.Value == "human" && n.Field("choices") != nil {
			for _, choice := range n.Field("choices").Items {
				if choice.Kind == spec.String {
					f.label(n, choice.Text.Value, choice.Text.At(0, len(choice.Text.Value)))
				}
			}
		}
	}
}

// checkYielded reports labels that the output's schema lists and ends does not have.
func (f *facts) checkYielded(n *spec.Node) {
	if !n.HasEnds || n.OutputSource == nil {
		return
	}
	label := n.OutputSource.Get("properties").Get("goto")
	for _, schema := range []*spec.Value{label, label.Get("items")} {
		list := schema.Get("enum")
		if list == nil {
			continue
		}
		for i := range list.Items {
			if at := list.Items[i].Text; list.Items[i].Kind == spec.String {
				f.label(n, at.Value, at.At(0, len(at.Value)))
			}
		}
	}
}

// label reports one that a node may not choose.
func (f *facts) label(n *spec.Node, label string, at spec.Span) {
	if labels := f.labels(n); !slices.Contains(labels, label) {
		d := f.report(at, "%q is no label that %q may choose; labels are %s", label, n.ID.Value, strings.Join(labels, ", "))
		d.Suggestion = suggest.Closest(label, labels)
	}
}

// labels are what a node may choose, sorted: those of ends, or any node and END.
func (f *facts) labels(n *spec.Node) []string {
	var out []string
	for _, end := range n.Ends {
		out = append(out, end.Label.Value)
	}
	if !n.HasEnds {
		out = append(out, spec.END)
		for _, other := range f.graph.Nodes {
			out = append(out, other.ID.Value)
		}
	}
	slices.Sort(out)
	return out
}

// choices are the texts that an expression may be, as far as they stand in it.
func choices(t *eval.Tree, out []string) []string {
	switch {
	case t.Op == eval.TreeConst:
		if s, ok := t.Value.(string); ok {
			out = append(out, s)
		}
	case t.Op == eval.TreeList:
		for _, item := range t.Args {
			out = choices(item, out)
		}
	case t.Op == eval.TreeChoice:
		out = choices(t.Args[2], choices(t.Args[1], out))
	case t.Op == eval.TreeBinary && t.Name == "??":
		out = choices(t.Args[1], choices(t.Args[0], out))
	}
	return out
}

// labelSpan is where the label stands in the expression; all of it when it is
// written in another way.
func labelSpan(text spec.Text, label string) spec.Span {
	for _, quote := range []string{"'", `"`, "`"} {
		if at := strings.Index(text.Value, quote+label+quote); at >= 0 {
			return text.At(at, at+len(label)+2*len(quote))
		}
	}
	return text.At(0, len(text.Value))
}

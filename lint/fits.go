// Values against what takes them, where the types alone don't tell: the answer that
// counts for an absent person, a key of some values into one of fewer.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func checkTypes(f *facts) {
	checkGivenTypes(f)
	for _, n := range f.graph.Nodes {
		f.checkDefault(n)
	}
	if f.WellFormed() && f.hasGuards() {
		f.checkNarrower()
	}
}

// checkDefault reports what counts for an absent person if nobody may answer it.
func (f *facts) checkDefault(n *spec.Node) {
	value, choices, doc := n.Field("default"), n.Field("choices"), n.Field("schema")
	switch {
	case n.Kind.Value != "human" || value == nil:
	case choices != nil && choices.Kind == spec.List:
		legal := func(choice spec.Value) bool {
			return strings.Contains(choice.Text.Value, "{{") || !choice.IsScalar() || choice.Data() == value.Data()
		}
		if !value.IsScalar() || !slices.ContainsFunc(choices.Items, legal) {
			list, _ := choices.Data().([]any)
			f.report(value.Span, "the default of %q is %s, which is no choice; the choices are %s", n.ID.Value, domain.Literal(value.Data()), literalList(list))
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

func literalList(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = domain.Literal(v)
	}
	return strings.Join(words, ", ")
}

// checkNarrower reports a set node that writes a key of some values into one that does
// not allow them all, where a run comes with one of the others.
func (f *facts) checkNarrower() {
	for v, n := range f.graph.Nodes {
		if n.Kind.Value != "set" || n.Each.IsSet() {
			continue
		}
		set := n.Field("set")
		for i, b := range f.bound.Nodes[v].Set {
			p := b.Value.Program()
			if p == nil || len(p.Reads()) != 1 || set == nil || i >= len(set.Fields) {
				continue
			}
			from, to := f.graph.Key(p.Reads()[0].Path[0]), f.graph.Key(b.Name)
			if from == nil || to == nil || from == to || !dataflow.Replaces(to) || slices.ContainsFunc(f.bound.Nodes[v].Set[:i], func(w bind.Field) bool { return w.Name == from.Name.Value }) {
				continue
			}
			if _, listed := domain.Literals(from.Schema); !listed || p.Tree().Op != eval.TreePath || len(p.Tree().Path) != 1 {
				continue
			}
			if value, ok := f.refused(v, from, to); ok {
				at := set.Fields[i].Value.Text
				f.report(at.At(0, len(at.Value)), "%s may be %s, which state key %q can't hold", strconv.Quote(from.Name.Value), domain.Literal(value), to.Name.Value)
			}
		}
	}
}

// refused is a value that a key has at a set node in a run that was found, and for which
// the node fails because another key can't hold it.
func (f *facts) refused(v int, from, to *spec.StateKey) (value any, ok bool) {
	values, _ := domain.Literals(from.Schema)
	compiled, err := schema.Compile(to.Schema)
	if err != nil || !slices.ContainsFunc(values, func(value any) bool { return compiled.Check(compiled.Normalise(value)) != nil }) {
		return nil, false
	}
	if f.planFor(nil) == nil || f.showing <= 0 {
		return nil, false
	}
	f.showing -= costOfModel * (len(f.graph.Nodes) + len(f.graph.State))
	name := from.Name.Value
	q := explore.Question{Model: explore.NewModel(f.graph, f.bound, f.uses(), nil, -1, name)}
	q.Found = func(r *explore.Run) bool {
		value, _ = r.State.Value(name)
		return value != nil && compiled.Check(compiled.Normalise(value)) != nil && slices.ContainsFunc(r.State.Notes(), func(n machine.Note) bool {
			return n.Kind == machine.NoteNodeFailed && n.Node == f.graph.Nodes[v].ID.Value && n.Failure.Kind == "invalid_output"
		})
	}
	a := f.shows(f.wayTo(v), q)
	return value, a.Found
}

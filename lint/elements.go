// What a failed element of an `each` leaves: part of type-mismatch.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

// checkFailedElements reports reads and writes of an `each` node's output that forget the
// null of an element that failed.
func (f *facts) checkFailedElements() {
	for v, n := range f.graph.Nodes {
		how := controlflow.ParallelOf(f.graph, v).OnFailure
		if !n.Each.IsSet() || !canFail(n) || how == "" || how == "fail_all" {
			continue
		}
		for _, w := range f.access()[v].Writes {
			items := domain.Subschema(f.graph.State[w.Key].Schema, "[0]")
			whole := w.Value == nil || isOutput(w.Value.Tree())
			if whole && items["type"] != nil && !domain.AllowsNull(items) {
				f.warn(w.Name.Span, "state key %q holds no nulls, and an element of %q that fails is null (on_failure: %s); write filter(output, # != nil)", w.Name.Value, n.ID.Value, how)
			}
		}
		for _, u := range f.uses().OfNode(v) {
			if u.Moment != dataflow.Before && readsElements(u.Program.Tree()) {
				f.warn(u.Span(), "an element of %q that fails is null (on_failure: %s), and null has no members; filter the list first", n.ID.Value, how)
			}
		}
	}
}

func isOutput(t *eval.Tree) bool {
	return t.Op == eval.TreePath && slices.Equal(t.Path, []string{"output"})
}

// readsElements reports whether a tree reads a member of each element of the output.
func readsElements(t *eval.Tree) bool {
	if t.Over != nil && isOutput(t.Over) && t.Body.Op == eval.TreePath && len(t.Body.Path) > 1 && t.Body.Path[0] == "#" {
		return true
	}
	return slices.ContainsFunc(t.Args, readsElements)
}

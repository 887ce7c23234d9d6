// missing-fallback: conditions that can all be false.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

func missingFallback() Rule {
	return Rule{
		Name: "missing-fallback", Group: "expressions", Severity: spec.Warning,
		Summary: "the conditions of a node can all be false, and no edge is left to take",
		Doc: `When no edge fires after a node, the run ends stuck. The conditions of this node do not
cover all values, and the message has one that falls through. Add an edge without a
condition, which is taken when nothing matched, or make the conditions complete.

Values are those that schemas allow: enum, minimum and maximum narrow them, and so do
the choices of a person and the constants that nodes write. The rule speaks only if it
has found a run that gets stuck: the message has its values and its path. A node whose
edges are all for its failure has none for its success, and of one that a visit limit
skips only edges without a condition are tried.`,
		Bad: `graphrun: v1
name: route
start: score
state:
  n: {type: integer, required: true}
nodes:
  score: {kind: pass}
  high: {kind: pass}
  low: {kind: pass}
edges:
  - {from: score, to: high, when: "n > 3"}
  - {from: score, to: low, when: "n < 3"}
  - {from: [high, low], to: END}
`,
		change: []string{"n < 3", "n <= 3"},
		needs:  needAll,
		check:  (*facts).missingFallbacks,
	}
}

func (f *facts) missingFallbacks() {
	f.failureOnly()
	f.skippedAway()
	all := f.judgements()
	for i := range all {
		d := &all[i]
		if d.noGap || d.result.Exhaustive {
			continue
		}
		path, values := f.fallsThrough(d)
		readsOutput := slices.ContainsFunc(d.conditions, func(p *eval.Program) bool { return p.Uses("output") })
		if path == nil || len(values) == 0 && readsOutput { // only a result of unknown type falls through
			continue
		}
		id, when := d.site.node.ID, ""
		if len(values) > 0 {
			when = " when " + bindings(values) + ","
		}
		found := f.report(id.Span, "no edge of %q fires%s on the path %s: all conditions are false, and there is no edge without one", id.Value, when, f.pathText(path))
		for k := range d.edges {
			found.Related = append(found.Related, f.related(d.span(k), "this is false"))
		}
	}
}

// failureOnly reports nodes that lead on only when they fail.
func (f *facts) failureOnly() {
	out := f.edgesOut()
	for v, n := range f.graph.Nodes {
		failing := 0
		for _, e := range out[v] {
			if f.graph.Edges[e].Condition == "on_failure" {
				failing++
			}
		}
		if failing == 0 || failing < len(out[v]) || chooses(n) {
			continue
		}
		d := f.report(n.ID.Span, "no edge of %q fires when it succeeds: all are for its failure", n.ID.Value)
		d.Related = append(d.Related, f.related(f.graph.Edges[out[v][0]].To.Span, "this is for its failure"))
	}
}

// skippedAway reports nodes that conditions lead on from and that a visit limit
// may skip: only edges without a condition are tried then.
func (f *facts) skippedAway() {
	w := f.flow()
	for v, n := range f.graph.Nodes {
		if n.OnMaxVisits != "skip" || n.MaxVisits == 0 || !w.Cyclic[v] || chooses(n) {
			continue
		}
		if slices.ContainsFunc(w.Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.ByDefault }) {
			continue
		}
		f.report(n.ID.Span, "no edge of %q fires when a visit beyond max_visits is skipped: only edges without a condition are tried then", n.ID.Value)
	}
}

// hasOtherWay reports whether a node can be left although no condition holds.
func (f *facts) hasOtherWay(n *spec.Node) bool {
	if chooses(n) {
		return true
	}
	for _, g := range f.flow().Groups[n.Index] {
		if g.Kind == controlflow.ByDefault || g.Kind == controlflow.ByDecision {
			return true
		}
	}
	return false
}

// bindings are values in words: n = 3 and mode = "fast".
func bindings(values []solve.Binding) string {
	words := make([]string, len(values))
	for i, b := range values {
		words[i] = b.Name() + " = " + domain.Literal(b.Value)
	}
	return strings.Join(words, " and ")
}

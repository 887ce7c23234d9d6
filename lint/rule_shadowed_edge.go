// shadowed-edge: an edge that an earlier one always beats.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

func shadowedEdge() Rule {
	return Rule{
		Name: "shadowed-edge", Group: "expressions", Severity: spec.Warning,
		Summary: "an edge never fires because an earlier one always wins",
		Doc: `Conditional edges are tried by priority, then in the order of the file, and the first whose
condition holds fires alone. Whenever the condition of this edge holds, an earlier one
holds too, so this edge is dead. Put the narrower condition first, or give it a priority.

An edge without a condition is only taken when no condition held: it is dead behind a
condition that is always true, and beside a model's decision that it is no fallback of.`,
		Bad: `graphrun: v1
name: order
start: score
state:
  n: {type: integer, required: true}
nodes:
  score: {kind: pass}
  some: {kind: pass}
  many: {kind: pass}
edges:
  - {from: score, to: some, when: "n > 3"}
  - {from: score, to: many, when: "n > 10"}
  - {from: score, to: END}
  - {from: [some, many], to: END}
`,
		change: []string{`some, when: "n > 3"`, `many, when: "n > 10"`, `many, when: "n > 10"`, `some, when: "n > 3"`},
		needs:  needAll,
		check:  (*facts).shadowedEdges,
	}
}

func (f *facts) shadowedEdges() {
	f.decidedBefore()
	f.neverFails()
	all := f.judgements()
	for i := range all {
		d := &all[i]
		always := -1
		for k, v := range d.result.Verdicts {
			if v.Always && always < 0 {
				always = k
			}
			if !v.Shadowed || len(v.By) == 1 && repeats(d.edge(k), d.edge(v.By[0])) {
				continue // rule duplicate-edge
			}
			names := make([]string, len(v.By))
			for j, by := range v.By {
				names[j] = strconv.Quote(d.edge(by).When.Value)
			}
			found := f.report(d.span(k), "this edge never fires: whenever its condition holds, %s", holdsBefore(names))
			for _, by := range v.By {
				found.Related = append(found.Related, f.related(d.span(by), "this edge is tried before"))
			}
		}
		// A skipped visit tries the edges without a condition only.
		if always >= 0 && !d.site.failed && d.site.node.OnMaxVisits != "skip" {
			f.shadowedDefaults(d, always)
		}
	}
}

// decidedBefore reports edges beside decisions that are no fallback: one of the
// candidates always fires instead.
func (f *facts) decidedBefore() {
	decides := map[string]*spec.Edge{}
	for _, d := range f.decisions() {
		decides[d.edges[0].From.Value] = d.edges[0]
	}
	for _, e := range f.graph.Edges {
		candidate := decides[e.From.Value]
		if candidate == nil || e.Condition != "on_success" || e.Fallback || e.Decl < 0 || f.graph.Node(e.From.Value).OnMaxVisits == "skip" {
			continue
		}
		found := f.report(e.To.Span, "this edge never fires: a model decides between others; mark it with fallback: true if it is for decisions that fail")
		found.Related = append(found.Related, f.related(candidate.To.Span, "this is a candidate of the decision"))
	}
}

// neverFails reports edges for the failure of nodes that can't fail.
func (f *facts) neverFails() {
	limits := f.visitLimits()
	for i, e := range f.graph.Edges {
		if e.Condition != "on_failure" || f.From[i] < 0 || f.canFailAtAll(f.From[i], limits[f.From[i]]) {
			continue
		}
		n := f.graph.Nodes[f.From[i]]
		what := ""
		if slices.ContainsFunc(f.flow().Groups[n.Index], func(g controlflow.Group) bool { return len(g.Targets) > 1 }) {
			what = "; a branch that it starts fails by itself, and has on_failure edges of its own"
		}
		f.report(e.To.Span, "this edge never fires: %q is of kind %s and can't fail%s", n.ID.Value, n.Kind.Value, what)
	}
}

// canFailAtAll reports whether a visit of a node may end in a failure that its
// edges can be for, with so many visits allowed; an error of an expression ends
// the run.
func (f *facts) canFailAtAll(v, visits int) bool {
	n := f.graph.Nodes[v]
	limited := visits > 0 && n.OnMaxVisits != "skip"
	if limited || f.failsBypassed(n) || len(f.access()[v].Writes) > 0 || chooses(n) || n.Each.IsSet() {
		return true
	}
	return n.Kind.Value != "pass"
}

// repeats reports whether two edges of a node have one target and condition.
func repeats(e, earlier *spec.Edge) bool {
	return e.To.Value == earlier.To.Value && strings.TrimSpace(e.When.Value) == strings.TrimSpace(earlier.When.Value)
}

func holdsBefore(names []string) string {
	if len(names) == 1 {
		return "the earlier " + names[0] + " holds too"
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return "one of the earlier " + strings.Join(names, ", ") + " holds too"
}

// shadowedDefaults reports the edges without a condition that a condition
// which always holds leaves nothing to.
func (f *facts) shadowedDefaults(d *judgement, always int) {
	for _, g := range f.flow().Groups[d.site.node.Index] {
		if g.Kind != controlflow.ByDefault && g.Kind != controlflow.ByDecision {
			continue
		}
		for _, i := range g.Edges {
			// An edge for every outcome still fires after a failure.
			if e := f.graph.Edges[i]; e.Condition != "always" && e.Decl >= 0 {
				found := f.report(e.To.Span, "this edge never fires: the condition of an earlier one is always true")
				found.Related = append(found.Related, f.related(d.span(always), "this is always true"))
			}
		}
	}
}

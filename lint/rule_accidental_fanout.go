// accidental-fanout: unconditional edges fire together where one was meant.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

func accidentalFanout() Rule {
	return Rule{
		Name: "accidental-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape,
		Summary: "edges without a condition fire together where only one seems meant",
		Doc: "All edges without a condition fire when no condition holds; they start parallel branches. " +
			"The rule speaks when they stand in declarations of their own and one is the else of a condition, leads back to the node itself, or goes to END or to a fail node next to another. " +
			"Write both targets into one edge, to: [a, b], if both are meant; else give one a condition.",
		Bad: `graphrun: v1
name: review
start: write
nodes:
  write: {kind: pass}
  review: {kind: pass, max_visits: 3}
  publish: {kind: pass}
edges:
  - {from: write, to: review}
  - {from: review, to: write}
  - {from: review, to: publish}
  - {from: publish, to: END}
`,
		change: []string{"review, to: write}", "review, to: write, when: visits.review < 2}"},
		check:  checkAccidentalFanout,
	}
}

func checkAccidentalFanout(f *facts) {
	w := f.flow()
	for v, groups := range w.Groups {
		if !w.Reached[v] {
			continue
		}
		guarded := slices.ContainsFunc(groups, func(g controlflow.Group) bool {
			return g.Kind == controlflow.ByGuard || g.Kind == controlflow.ByDecision
		})
		for i := range groups {
			if groups[i].Kind == controlflow.ByDefault && len(groups[i].Targets) > 1 {
				f.fanout(v, &groups[i], guarded)
			}
		}
	}
}

// fanout looks at the unconditional edges of a node.
func (f *facts) fanout(v int, g *controlflow.Group, guarded bool) {
	edges := f.graph.Edges
	first, w := edges[g.Edges[0]], f.flow()
	other := func(e int) bool { return edges[e].Decl != first.Decl }
	if !slices.ContainsFunc(g.Edges, other) || f.joined(v, g) {
		return
	}
	name := f.Name(v)
	for _, i := range g.Edges[1:] {
		e := edges[i]
		target := f.To[i]
		if e.Decl == first.Decl || target == f.To[g.Edges[0]] || e.Decl < 0 {
			continue
		}
		switch {
		case guarded:
			f.accident(e, first, "when no condition of %q holds, the edges to %q and %q both fire", name, first.To.Value, e.To.Value)
		case target == f.End || first.To.Value == spec.END:
			f.accident(e, first, "the edges of %q to %q and %q both fire; one that leads to END beside another ends nothing", name, first.To.Value, e.To.Value)
		case f.fails(target) != f.fails(f.To[g.Edges[0]]):
			f.accident(e, first, "the edges of %q to %q and %q both fire; one that leads to a fail node ends what the other has begun", name, first.To.Value, e.To.Value)
		case f.loops(v, target) != f.loops(v, f.To[g.Edges[0]]) && w.Cyclic[v]:
			f.accident(e, first, "the edges of %q to %q and %q both fire, and one of them leads back to %q", name, first.To.Value, e.To.Value, name)
		default:
			continue
		}
		return
	}
}

func (f *facts) accident(e, first *spec.Edge, format string, args ...any) {
	d := f.report(e.To.Span, format+"; give one a condition, or write one edge with a list of targets", args...)
	d.Related = append(d.Related, f.related(first.To.Span, "the other edge"))
}

// loops reports whether a target leads back to v.
func (f *facts) loops(v, target int) bool {
	w := f.flow()
	return target < len(f.graph.Nodes) && w.SCC[v] == w.SCC[target]
}

// fails reports whether a target is a fail node.
func (f *facts) fails(target int) bool {
	return target < len(f.graph.Nodes) && f.graph.Nodes[target].Kind.Value == "fail"
}

// joined reports whether branches of the group meet at a join, which shows
// that they are meant.
func (f *facts) joined(v int, g *controlflow.Group) bool {
	if f.graph.Nodes[v].Parallel != nil {
		return true
	}
	if declared, _ := f.graph.Settings()["parallel"].(map[string]any); declared["join"] != nil {
		return true
	}
	k := f.forks()
	return k == nil || k.Joined(v, g)
}

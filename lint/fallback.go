// missing-fallback: conditions that can all be false.

package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func fallbackRules() []Rule {
	return []Rule{
		{
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
			Bad: startAt("score") + `state:
  n: {type: integer, required: true}
` + passNodes("score", "high", "low") + `edges:
  - {from: score, to: high, when: "n > 3"}
  - {from: score, to: low, when: "n < 3"}
  - {from: [high, low], to: END}
`,
			change: []string{"n < 3", "n <= 3"},
			needs:  needAll,
			check:  checkMissingFallbacks,
		},
	}
}

func checkMissingFallbacks(f *facts) {
	f.reportNoSuccess()
	f.reportNoSkip()
	for i := range f.judgements() {
		d := &f.judgements()[i]
		if d.site.failed || d.result.Exhaustive || f.hasOtherWay(d.site.node) {
			continue
		}
		path, values := f.findStuck(d)
		readsOutput := slices.ContainsFunc(d.conditions, func(p *eval.Program) bool { return p.Uses("output") })
		if path == nil || len(values) == 0 && readsOutput {
			continue
		}
		id, when := d.site.node.ID, ""
		if len(values) > 0 {
			when = " when " + strings.Join(values, " and ") + ","
		}
		found := f.report(id.Span, "no edge of %q fires%s on the path %s: all conditions are false, and there is no edge without one", id.Value, when, f.pathText(path))
		for k := range d.edges {
			found.Related = append(found.Related, f.related(d.span(k), "this is false"))
		}
	}
}

// findStuck returns the path of a run that gets stuck because no condition of a decision
// holds, and what the conditions read then, as in "n = 3".
func (f *facts) findStuck(d *judgement) (path []int, values []string) {
	seen := map[*eval.Program]map[string]any{} // what each condition read last
	isStuck := func(r *explore.Run) bool {
		how := r.State.Failure
		if r.State.Status != machine.Stuck || how.Node != d.site.node.ID.Value || len(how.Candidates) == 0 || how.Candidates[0].Edge < 0 {
			return false // or it is a join that waits for branches which can't come
		}
		skipped := func(n machine.Note) bool { return n.Skipped } // its conditions are not tried
		return !slices.ContainsFunc(r.State.Notes(), skipped)
	}
	q := explore.Question{Found: isStuck, Evaluates: func(_ *explore.Run, p *eval.Program, env map[string]any) {
		if slices.Contains(d.conditions, p) {
			seen[p] = maps.Clone(env)
		}
	}}
	a := f.findRun(f.pathTo(d.site.node.Index), q)
	if guide := f.roundsOf(d); !a.Found && a.Gap != "" && guide != nil {
		a = f.findRun(guide, q)
	}
	for _, p := range d.conditions {
		for _, read := range p.Reads() {
			if read.Path[0] == "output" && domain.Yields(d.site.node, read.Path[1:]) == nil {
				continue // of unknown type
			}
			text := solve.PathName(read.Path) + " = " + domain.Literal(member(seen[p], read.Path))
			if !slices.Contains(values, text) {
				values = append(values, text)
			}
		}
	}
	return a.Witness, values
}

// roundsOf returns a path to a decision that goes round until the visits of a node that it
// counts are used up, or nil.
func (f *facts) roundsOf(d *judgement) (path []int) {
	const most = 6
	v := d.site.node.Index
	for _, p := range d.conditions {
		p.Tree().Each(func(t *eval.Tree) {
			for i := 0; t.Op == eval.TreeBinary && i < len(t.Args); i++ {
				limit, isNumber := number(t.Args[1-i])
				counted := t.Args[i].Path
				if !isNumber || limit > most || len(counted) != 2 || counted[0] != "visits" {
					continue
				}
				n := f.graph.Node(counted[1])
				if n == nil || !f.sharesCycle(v, n.Index) || path != nil {
					continue
				}
				round := cycleThrough(f.alive(), v)
				if there, back := f.path(v, n.Index), f.path(n.Index, v); n.Index != v && there != nil && back != nil {
					round = append(there, back[1:]...)
				}
				path = f.pathTo(v)
				for rounds := 0; rounds < int(limit) && round != nil && path != nil; rounds++ {
					path = append(path, round[1:]...)
				}
			}
		})
	}
	return path
}

// reportNoSuccess reports nodes that lead on only when they fail.
func (f *facts) reportNoSuccess() {
	onFailure := func(e int) bool { return f.graph.Edges[e].Condition == "on_failure" }
	for v, edges := range f.edgesOut() {
		n := f.graph.Nodes[v]
		if len(edges) == 0 || choosesNext(n) || slices.ContainsFunc(edges, func(e int) bool { return !onFailure(e) }) {
			continue
		}
		d := f.report(n.ID.Span, "no edge of %q fires when it succeeds: all are for its failure", n.ID.Value)
		d.Related = append(d.Related, f.related(f.graph.Edges[edges[0]].To.Span, "this is for its failure"))
	}
}

// reportNoSkip reports nodes that only conditions lead on from and that a visit limit may
// skip.
func (f *facts) reportNoSkip() {
	for v, groups := range f.flow().Groups {
		n := f.graph.Nodes[v]
		if n.OnMaxVisits != "skip" || n.MaxVisits == 0 || !f.flow().Cyclic[v] || choosesNext(n) ||
			slices.ContainsFunc(groups, func(g controlflow.Group) bool { return g.Kind == controlflow.ByDefault }) {
			continue
		}
		f.report(n.ID.Span, "no edge of %q fires when a visit beyond max_visits is skipped: only edges without a condition are tried then", n.ID.Value)
	}
}

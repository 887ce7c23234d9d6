// The decisions of a graph: which conditions are tried after each node, and
// what is proven about them.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// judgement is the conditions that are tried at one place, and their verdicts.
type judgement struct {
	site site
	// edges are those of each condition: one, or all of a declaration.
	edges      [][]int
	conditions []*eval.Program
	// noGap: there is no need to know when all conditions are false.
	noGap  bool
	result solve.Result
}

// judgements solves every decision of the graph, in the order of its nodes.
func (f *facts) judgements() []judgement {
	if f.theJudgements != nil {
		return *f.theJudgements
	}
	w := f.flow()
	places := 0
	for _, groups := range w.Groups {
		for i := range groups {
			if kind := groups[i].Kind; (kind == controlflow.ByGuard || kind == controlflow.OnFailure) && (i == 0 || groups[i-1].Kind != kind) {
				places++
			}
		}
	}
	all := make([]judgement, 0, places)
	for v, groups := range w.Groups {
		for _, kind := range []controlflow.Kind{controlflow.ByGuard, controlflow.OnFailure} {
			d := judgement{site: site{f: f, node: f.graph.Nodes[v], failed: kind == controlflow.OnFailure}}
			for i := range groups {
				if groups[i].Kind == kind {
					d.add(groups[i].Edges)
				}
			}
			if len(d.edges) > 0 {
				d.noGap = d.site.failed || f.hasOtherWay(d.site.node)
				d.result = d.ask()
				all = append(all, d)
			}
		}
	}
	f.theJudgements = &all
	return all
}

// ask solves the decision for what is known at its site.
func (d *judgement) ask() solve.Result {
	at := d.site // the problem keeps a pointer, which the judgement need not bear
	return at.f.solver.Solve(solve.Problem{
		Conditions: d.conditions, Domain: at.domain, Valid: at.valid, Why: at.why,
		All: at.node.Routing == "all",
	})
}

// add takes the edges of a group that have a condition, one declaration at a time.
func (d *judgement) add(edges []int) {
	f := d.site.f
	for _, same := range f.Declarations(edges) {
		if when := f.bound.Edges[same[0]].When; when != nil {
			d.edges = append(d.edges, same)
			d.conditions = append(d.conditions, when)
		}
	}
}

// edge is the first edge of a condition.
func (d *judgement) edge(i int) *spec.Edge { return d.site.f.graph.Edges[d.edges[i][0]] }

// span is the place of a condition: the expression without the quotes or the
// block's head that it is written in.
func (d *judgement) span(i int) spec.Span {
	when := d.edge(i).When
	trimmed := strings.TrimLeft(when.Value, " \t\r\n")
	from := len(when.Value) - len(trimmed)
	return when.At(from, from+len(strings.TrimRight(trimmed, " \t\r\n")))
}

// passed reports whether every path to the node at has run the node v.
func (f *facts) passed(v, at int) bool {
	return v == at || !f.flow().Anywhere && f.flow().Dominators().Covers(v, at)
}

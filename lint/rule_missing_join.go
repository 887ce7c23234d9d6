// missing-join: branches of unequal length reach one node without a join.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

func missingJoin() Rule {
	return Rule{
		Name: "missing-join", Group: "parallel", Severity: spec.Warning, needs: needShape,
		Summary: "branches of unequal length reach one node without a join",
		Doc: "Branches that reach a node in the same step run it once. When one of them is longer, " +
			"or waits for a person or a time, the node runs when the first arrives and once more for the second. " +
			"A join makes it wait for both. A node that is meant to run once for each branch can say so by a comment that ignores this rule.",
		Bad: `graphrun: v1
name: report
start: split
nodes:
  split: {kind: pass}
  fetch: {kind: pass}
  clean: {kind: pass}
  count: {kind: pass}
  write: {kind: pass}
edges:
  - {from: split, to: [fetch, count]}
  - {from: fetch, to: clean}
  - {from: [clean, count], to: write}
  - {from: write, to: END}
`,
		change: []string{"write: {kind: pass}", "write: {kind: pass, join: {wait: all}}"},
		check:  checkMissingJoin,
	}
}

func checkMissingJoin(f *facts) {
	k := f.forks()
	if k == nil || !k.Any() || f.graph.Parallel.Join == "auto" {
		return
	}
	told := map[int]bool{}
	for v, n := range f.graph.Nodes {
		if n.Join != nil || !k.Dominators.Reached(v) {
			continue
		}
		for _, c := range k.Unequal(v, 1) {
			if p := f.graph.Nodes[c.At.Node].Parallel; p != nil && p.Join == "auto" {
				continue
			}
			d := f.report(n.ID.Span, "%q runs once for each branch that comes: %s, and %s; give it join: {wait: all}",
				n.ID.Value, f.arrives(k, c.Left, c.LeftTime), f.arrives(k, c.Right, c.RightTime))
			d.Related = append(d.Related, f.related(f.graph.Nodes[c.At.Node].ID.Span, "the branches begin here"))
			told[v] = true
		}
	}
	f.otherWaysIn(told)
	f.tooFewCome()
}

// tooFewCome reports a join of a number that all branches of a fan-out are needed for,
// one of which may end elsewhere: nothing satisfies the join then.
func (f *facts) tooFewCome() {
	for v, groups := range f.flow().Groups {
		for i := range groups {
			g := &groups[i]
			if len(g.Targets) < 2 || g.Subset || f.isDead(g) || !f.flow().Reached[v] {
				continue
			}
			for _, n := range f.graph.Nodes {
				if n.Join == nil || n.Join.Wait == "all" || n.Join.Wait == "any" || n.Join.Count != len(g.Targets) || !f.onlyFrom(v, n.Index) {
					continue
				}
				before := f.before(n.Index)
				if slices.ContainsFunc(g.Targets, func(first int) bool { return first != n.Index && !before[first] }) {
					continue
				}
				for _, first := range g.Targets {
					if path := f.endsPast(first, n.Index); path != nil {
						d := f.report(n.ID.Span, "%q waits for %d branches, but one may end without coming: %s; the run is stuck then, so lead it here too, or wait for all that come",
							n.ID.Value, n.Join.Count, f.pathText(path))
						d.Related = append(d.Related, f.related(f.graph.Nodes[v].ID.Span, "the branches begin here"))
						break
					}
				}
			}
		}
	}
}

// onlyFrom reports whether a node is reached through one fan-out only, and no branch of
// it starts others.
func (f *facts) onlyFrom(fork, node int) bool {
	if !f.flow().Dominators().Covers(fork, node) {
		return false
	}
	before, behind := f.flow().Reverse.Reach(node), f.alive().Reach(fork)
	for v, groups := range f.flow().Groups {
		if controlflow.Fans(groups) && v != fork && before[v] && behind[v] {
			return false
		}
	}
	return true
}

// endsPast is a way from the beginning of a branch to END that successes take and that
// does not pass a node; nil when there is none.
func (f *facts) endsPast(first, node int) []int {
	if first == node {
		return nil
	}
	next := func(v int) []int {
		if v == node || v >= len(f.graph.Nodes) || f.graph.Nodes[v].Kind.Value == "fail" {
			return nil
		}
		return f.calm(v)
	}
	return shortest(next, len(f.graph.Nodes)+2, first, f.End)
}

// arrives says when a branch arrives by an edge from p.
func (f *facts) arrives(k *concurrency.Branches, p int, l concurrency.Lengths) string {
	from := f.Name(k.Source(p))
	switch {
	case l.Exact():
		return fmt.Sprintf("from %q after %s", from, plural(l.Least, "step"))
	case l.Open > 0:
		return fmt.Sprintf("from %q after %s or more", from, plural(l.Least, "step"))
	}
	return fmt.Sprintf("from %q after %d to %s", from, l.Least, plural(l.Most, "step"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// missing-join: branches of unequal length reach one node without a join.

package lint

import (
	"fmt"

	"github.com/graphrun/graphrun/spec"
)

func missingJoin() Rule {
	return Rule{
		Name: "missing-join", Severity: spec.Warning, needs: needShape,
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
		Good: `graphrun: v1
name: report
start: split
nodes:
  split: {kind: pass}
  fetch: {kind: pass}
  clean: {kind: pass}
  count: {kind: pass}
  write: {kind: pass, join: {wait: all}}
edges:
  - {from: split, to: [fetch, count]}
  - {from: fetch, to: clean}
  - {from: [clean, count], to: write}
  - {from: write, to: END}
`,
		check: checkMissingJoin,
	}
}

func checkMissingJoin(f *facts) {
	k := f.forks()
	if k == nil || len(k.target) == 0 || f.graph.Parallel.Join == "auto" {
		return
	}
	times := k.timing()
	for v, n := range f.graph.Nodes {
		if n.Join != nil || !k.tree.Reached(v) {
			continue
		}
		for _, c := range k.unequal(v, times, 1) {
			if p := f.graph.Nodes[c.at.node].Parallel; p != nil && p.Join == "auto" {
				continue
			}
			d := f.report(n.ID.Span, "%q runs once for each branch that comes: %s, and %s; give it join: {wait: all}",
				n.ID.Value, f.arrives(k, c.left, c.leftTime), f.arrives(k, c.right, c.rightTime))
			d.Related = append(d.Related, f.related(f.graph.Nodes[c.at.node].ID.Span, "the branches begin here"))
		}
	}
}

// arrives says when a branch arrives by an edge from p.
func (f *facts) arrives(k *forks, p int, l lengths) string {
	from := f.name(k.source(p))
	switch {
	case l.exact():
		return fmt.Sprintf("from %q after %s", from, plural(l.least, "step"))
	case l.open > 0:
		return fmt.Sprintf("from %q after %s or more", from, plural(l.least, "step"))
	}
	return fmt.Sprintf("from %q after %d to %s", from, l.least, plural(l.most, "step"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

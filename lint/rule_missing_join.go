// missing-join: some branches of a fan-out meet at a node without a join.

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

func missingJoin() Rule {
	return Rule{
		Name: "missing-join", Group: "parallel", Severity: spec.Warning, needs: needShape,
		Summary: "some branches of a fan-out reach one node without a join",
		Doc: "Branches join by themselves at the first node that all of them can reach. A node that only some of them " +
			"can reach runs once for each that comes, and so does every node with `parallel: {join: explicit}`. " +
			"A join makes it wait for all. A node that is meant to run once for each branch can say so by a comment that ignores this rule.",
		Bad: `graphrun: v1
name: report
start: split
nodes:
  split: {kind: pass}
  fetch: {kind: pass}
  clean: {kind: pass}
  count: {kind: pass}
  write: {kind: pass}
  done: {kind: pass}
edges:
  - {from: split, to: [fetch, clean, count]}
  - {from: [fetch, clean], to: write}
  - {from: [write, count], to: done}
  - {from: done, to: END}
`,
		change: []string{"write: {kind: pass}", "write: {kind: pass, join: {wait: all}}"},
		check:  checkMissingJoin,
	}
}

func checkMissingJoin(f *facts) {
	f.tooFewCome()
	for fork, groups := range f.flow().Groups {
		for i := range groups {
			if g := &groups[i]; f.flow().Reached[fork] && len(g.Targets) > 1 && !g.Subset && !f.isDead(g) {
				f.meetWithoutJoin(fork, g)
			}
		}
	}
}

// meetWithoutJoin reports the first node that several branches of a fan-out reach and that
// does not join them.
func (f *facts) meetWithoutJoin(fork int, g *controlflow.Group) {
	auto := controlflow.JoinsBy(f.graph, fork) == "auto"
	if auto && len(g.Targets) < 3 {
		return // what both can reach joins them
	}
	from, longest := map[int][]int{}, map[int]int{} // of the nodes that branches reach: most graphs are larger
	branches := 0
	for _, first := range g.Targets {
		if first == f.End {
			continue
		}
		branches++
		for v, steps := range f.stepsFrom(first, fork) { //lint:ignore mapiter each node for itself
			from[v], longest[v] = append(from[v], first), max(longest[v], steps)
		}
	}
	best := -1
	for _, v := range slices.Sorted(maps.Keys(from)) {
		n := f.graph.Nodes[v]
		if len(from[v]) > 1 && n.Join == nil && (!auto || len(from[v]) < branches) && (best < 0 || longest[v] < longest[best]) {
			best = v
		}
	}
	if best < 0 {
		return
	}
	why := "they do not join by themselves"
	if auto {
		why = "not all branches can reach it"
	}
	d := f.report(f.graph.Nodes[best].ID.Span, "%q runs once for each branch that comes, from %q and from %q, because %s; give it join: {wait: all}",
		f.Name(best), f.Name(from[best][0]), f.Name(from[best][1]), why)
	d.Related = append(d.Related, f.related(f.graph.Nodes[fork].ID.Span, "the branches begin here"))
}

// stepsFrom returns, for each node that a branch reaches, the length of the shortest path.
// Paths follow success edges and stop at joins and at the source of the fan-out.
func (f *facts) stepsFrom(first, fork int) map[int]int {
	steps := map[int]int{first: 1}
	for todo := []int{first}; len(todo) > 0; todo = todo[1:] {
		if f.graph.Nodes[todo[0]].Join != nil {
			continue
		}
		for _, to := range f.calm(todo[0]) {
			if steps[to] == 0 && to < f.End && to != fork {
				steps[to] = steps[todo[0]] + 1
				todo = append(todo, to)
			}
		}
	}
	return steps
}

// tooFewCome reports a join of a number that all branches of a fan-out are needed for,
// one of which may end elsewhere: the join does not run then.
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
						d := f.report(n.ID.Span, "%q waits for %d branches, but one may end without coming: %s; the others end here then, so lead it here too, or wait for all that come",
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

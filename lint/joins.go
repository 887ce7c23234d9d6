// The rules about joins: missing-join, join-never-fires, join-without-fanout.

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

func joinRules() []Rule {
	return []Rule{
		{
			Name: "join-never-fires", Group: "parallel", Severity: spec.Error, needs: needShape,
			Summary: "a join waits for more branches than can ever reach it",
			Doc: "A join with wait: N runs when N branches have arrived. If the graph can send it fewer, it never runs and the run ends without it. " +
				"Lower the number, or write wait: all, which waits for the branches that there are.",
			Bad: startAt("ask") + `nodes:
  ask: {kind: pass}
  one: {kind: pass}
  two: {kind: pass}
  count: {kind: pass, join: {wait: 3}}
` + edges("from: ask, to: [one, two]", "from: [one, two], to: count", "from: count, to: END"),
			change: []string{"  count: {kind: pass, join: {wait: 3}}", "  three: {kind: pass}\n  count: {kind: pass, join: {wait: 2}}", "one, two]", "one, two, three]"},
			check:  checkJoinNeverFires,
		},
		{
			Name: "join-without-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape,
			Summary: "a join that only one branch can ever reach",
			Doc: "A join gathers branches that run at the same time. Ways that exclude each other, such as the two sides of a condition, are no branches: one of them arrives, and there is nothing to wait for. " +
				"Remove the join, or start the branches with a list of targets.",
			Bad: startAt("look") + `state:
  n: {type: integer, required: true}
nodes:
  look: {kind: pass}
  small: {kind: pass}
  large: {kind: pass}
  done: {kind: pass, join: {wait: all}}
` + edges("from: look, to: small, when: n < 10", "from: look, to: large", "from: [small, large], to: done", "from: done, to: END"),
			change: []string{"state:\n  n: {type: integer, required: true}\n", "", "small, when: n < 10}\n  - {from: look, to: large}", "[small, large]}"},
			check:  checkJoinWithoutFanout,
		},
		{
			Name: "missing-join", Group: "parallel", Severity: spec.Warning, needs: needShape,
			Summary: "some branches of a fan-out reach one node without a join",
			Doc: "Branches join by themselves at the first node that all of them can reach. A node that only some of them " +
				"can reach runs once for each that comes, and so does every node with `parallel: {join: explicit}`. " +
				"A join makes it wait for all. A node that is meant to run once for each branch can say so by a comment that ignores this rule.",
			Bad:    startAt("split") + passNodes("split", "fetch", "clean", "count", "write", "done") + edges("from: split, to: [fetch, clean, count]", "from: [fetch, clean], to: write", "from: [write, count], to: done", "from: done, to: END"),
			change: []string{"write: {kind: pass}", "write: {kind: pass, join: {wait: all}}"},
			check:  checkMissingJoin,
		},
	}
}

func checkMissingJoin(f *facts) {
	for fork, groups := range f.flow().Groups {
		for i := range groups {
			if g := &groups[i]; f.flow().Reached[fork] && len(g.Targets) > 1 && !g.Subset && !f.isDead(g) {
				f.reportMissingJoin(fork, g)
			}
		}
	}
}

// reportMissingJoin reports the first node that several branches of a fan-out reach and
// that does not join them.
func (f *facts) reportMissingJoin(fork int, g *controlflow.Group) {
	auto := controlflow.JoinsBy(f.graph, fork) == "auto"
	if auto && len(g.Targets) < 3 {
		return // what both can reach joins them
	}
	from, longest := map[int][]int{}, map[int]int{} // by node that branches reach
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
		if len(from[v]) > 1 && f.graph.Nodes[v].Join == nil && (!auto || len(from[v]) < branches) && (best < 0 || longest[v] < longest[best]) {
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
	d.Related = append(d.Related, f.branchesBegin(fork))
}

// stepsFrom returns, for each node that a branch reaches, the length of the shortest path.
// Paths follow success edges and stop at joins and at the source of the fan-out.
func (f *facts) stepsFrom(first, fork int) map[int]int {
	steps := map[int]int{first: 1}
	for todo := []int{first}; len(todo) > 0; todo = todo[1:] {
		if f.graph.Nodes[todo[0]].Join != nil {
			continue
		}
		for _, to := range f.successors(todo[0]) {
			if steps[to] == 0 && to < f.End && to != fork {
				steps[to] = steps[todo[0]] + 1
				todo = append(todo, to)
			}
		}
	}
	return steps
}

func checkJoinNeverFires(f *facts) {
	f.eachJoin(func(n *spec.Node, most int) {
		if n.Join.Wait == "N" && n.Join.Count > most {
			f.report(n.Join.Span, "%q waits for %d branches, but at most %d can reach it", n.ID.Value, n.Join.Count, most)
		}
	})
}

func checkJoinWithoutFanout(f *facts) {
	f.eachJoin(func(n *spec.Node, most int) {
		if most == 1 && (n.Join.Wait != "N" || n.Join.Count < 2) {
			f.report(n.Join.Span, "%q joins branches, but only one can reach it", n.ID.Value)
		}
	})
}

// eachJoin visits the valid joins that the start reaches with the most branches that can
// arrive.
func (f *facts) eachJoin(visit func(n *spec.Node, most int)) {
	var arrive []int
	for v, n := range f.graph.Nodes {
		if n.Join == nil || !n.Join.Valid() || !f.flow().Reached[v] || f.flow().Anywhere {
			continue
		}
		most := 1
		if f.rivals().Meets(v) {
			if arrive == nil {
				arrive = f.countArrivals()
			}
			most = arrive[v]
		}
		visit(n, most)
	}
}

// countArrivals returns the most branches that can arrive at each vertex, one for each way in;
// manyBranches if one may arrive again.
func (f *facts) countArrivals() []int {
	most := make([]int, f.End+2)
	for v, groups := range f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				switch {
				case !f.flow().Reached[v] || f.isDead(&groups[i]):
				case groups[i].Kind == controlflow.ByGoto, f.flow().Cyclic[v], f.rivals().Together(v, v):
					most[t] = manyBranches
				default:
					most[t]++
				}
			}
		}
	}
	return most
}

const manyBranches = 1 << 20

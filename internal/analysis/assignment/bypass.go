// What is not made where a join fails because a failure led a branch past it, or runs
// because all branches failed.

package assignment

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// aroundJoin is how a run may come to a vertex although no edge fires that leads there
// from the node: its failure makes a join fail whose failure edge does, or, without a
// join, all of the branches that it starts fail.
type aroundJoin struct {
	node, join int // -1 for no join
	with       outcome
}

// detours adds the arcs of ways that no edge leads.
func (a *Analysis) detours() {
	if a.k.Flow.FansOut {
		a.bypasses()
		a.losses()
	}
}

// bypasses adds, for each join that fails when it is bypassed, the arcs from the
// nodes whose failures may lead past it to where its own failure edges lead.
func (a *Analysis) bypasses() {
	w := a.k.Flow
	for join, n := range a.k.Flow.Source.Nodes {
		if controlflow.Bypass(n) != "fail" || !slices.ContainsFunc(w.Groups[join], isFailure) {
			continue
		}
		before := w.Reverse.Reach(join)
		for v, groups := range w.Groups {
			if v == join || !before[v] || !slices.ContainsFunc(groups, isFailure) {
				continue
			}
			for i := range w.Groups[join] {
				g := &w.Groups[join][i]
				for _, t := range g.Targets {
					if isFailure(*g) && !slices.Contains(a.around[t], aroundJoin{v, join, onFail}) {
						a.passAround(aroundJoin{v, join, onFail}, t)
					}
				}
			}
		}
	}
}

func isFailure(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure }

func (a *Analysis) passAround(b aroundJoin, target int) {
	if a.around == nil {
		a.around = map[int][]aroundJoin{}
	}
	a.around[target] = append(a.around[target], b)
	a.into[target] = append(slices.Clip(a.into[target]), arc{from: b.node, with: b.with})
}

// bypassedWithout reports whether a join may fail, because it is bypassed, while a
// thing is not made.
func (a *Analysis) bypassedWithout(join, thing int) bool {
	for _, list := range a.around { //lint:ignore mapiter any will do
		for _, b := range list {
			if b.join == join && a.open[b.node].has(thing) {
				return true
			}
		}
	}
	return false
}

// losses adds, for each fan-out under wait_all, an arc to the join that goes on when all
// of its branches have failed: nothing that they would have made is there then.
func (a *Analysis) losses() {
	for fork, groups := range a.k.Flow.Groups {
		if !a.k.Starts(fork) || controlflow.FailurePolicy(a.k.Flow.Source, fork) != "wait_all" {
			continue
		}
		for i := range groups {
			g := &groups[i]
			if len(g.Targets) < 2 || a.know.Dead(g) {
				continue
			}
			join := a.know.MeetsLost(fork, g)
			lost := aroundJoin{fork, -1, onSuccess}
			if join >= 0 && !slices.Contains(a.around[join], lost) && a.loses(g.Targets, join) {
				a.passAround(lost, join)
			}
		}
	}
}

// loses reports whether each of some branches may fail, for all that its failure edges
// say, before it comes to a join.
func (a *Analysis) loses(first []int, join int) bool {
	for _, v := range first {
		seen := map[int]bool{join: true, a.k.Flow.End: true}
		may := false
		for todo := []int{v}; len(todo) > 0 && !may; todo = todo[1:] {
			if at := todo[0]; !seen[at] {
				seen[at] = true
				may = a.know.Escapes(at)
				todo = append(todo, a.k.Flow.Digraph.Next(at)...)
			}
		}
		if !may {
			return false
		}
	}
	return true
}

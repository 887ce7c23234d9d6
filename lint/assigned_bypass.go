// What is not made where a join fails because a failure led a branch past it.

package lint

import "slices"

// aroundJoin is a failure of a node that makes a join fail.
type aroundJoin struct{ node, join int }

// bypasses adds, for each join that fails when it is bypassed, the arcs from the
// nodes whose failures may lead past it to where its own failure edges lead.
func (a *assignment) bypasses() {
	if !a.f.branches() {
		return
	}
	w := a.k.flow
	for join, n := range a.f.graph.Nodes {
		if !a.f.failsBypassed(n) || !slices.ContainsFunc(w.groups[join], isFailure) {
			continue
		}
		before := w.back.Reach(join)
		for v, groups := range w.groups {
			if v == join || !before[v] || !slices.ContainsFunc(groups, isFailure) {
				continue
			}
			for i := range w.groups[join] {
				g := &w.groups[join][i]
				for _, t := range g.targets {
					if isFailure(*g) && !slices.Contains(a.around[t], aroundJoin{v, join}) {
						a.passAround(v, join, t)
					}
				}
			}
		}
	}
}

func isFailure(g group) bool { return g.kind == onFailure }

func (a *assignment) passAround(v, join, target int) {
	if a.around == nil {
		a.around = map[int][]aroundJoin{}
	}
	a.around[target] = append(a.around[target], aroundJoin{v, join})
	a.into[target] = append(slices.Clip(a.into[target]), arc{from: v, with: onFail})
}

// bypassedWithout reports whether a join may fail, because it is bypassed, while a
// thing is not made.
func (a *assignment) bypassedWithout(join, thing int) bool {
	for _, list := range a.around { //lint:ignore mapiter any will do
		for _, b := range list {
			if b.join == join && a.open[b.node].has(thing) {
				return true
			}
		}
	}
	return false
}

// Branches that begin at nodes to which other ways lead, too, and meet without a join.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/concurrency"
)

// maxBegun bounds how many such branches are followed for one graph.
const maxBegun = 64

// otherWaysIn reports nodes where two branches of one fan-out meet after different
// numbers of steps, of which one begins where other ways lead, too: the dominators, by
// which branches are told otherwise, don't know it for a branch.
func (f *facts) otherWaysIn(told map[int]bool) {
	k := f.forks()
	begun := 0
	for fork, groups := range f.flow().Groups {
		for i := range groups {
			g := &groups[i]
			shared := func(v int) bool { return v < f.End && k.Dominators.Reached(v) && !k.IsArm(k.Dominators.Parent[v]) }
			if len(g.Targets) < 2 || g.Subset || f.isDead(g) || !f.flow().Reached[fork] || !slices.ContainsFunc(g.Targets, shared) ||
				f.joinsAt(fork) == "auto" {
				continue
			}
			if begun += len(g.Targets); begun > maxBegun {
				return
			}
			away := make([][]int, len(g.Targets))
			for j, first := range g.Targets {
				away[j] = f.stepsFrom(first, fork)
			}
			for a := range away {
				for b := range a {
					f.meetUnequal(fork, away[b], away[a], told)
				}
			}
		}
	}
}

// stepsFrom is how many steps a branch takes at least until each node has run, on ways
// that successes take, that pass no join and not the node where it began; 0 for none.
func (f *facts) stepsFrom(first, fork int) []int {
	steps := distances(func(v int) []int {
		if v >= f.End || f.graph.Nodes[v].Join != nil {
			return nil
		}
		return slices.DeleteFunc(f.calm(v), func(to int) bool { return to == fork })
	}, len(f.graph.Nodes)+2, first)
	for v := range steps {
		steps[v]++
	}
	return steps
}

// meetUnequal reports where two branches meet first after different numbers of steps, or
// of times that are not known.
func (f *facts) meetUnequal(fork int, left, right []int, told map[int]bool) {
	for v, n := range f.graph.Nodes {
		if told[v] || n.Join != nil || left[v] == 0 || right[v] == 0 {
			continue
		}
		comes := func(mine, other []int) int {
			if mine[v] == 1 && other[v] > 1 {
				return fork // it is where the branch begins
			}
			for _, p := range f.flow().Reverse.Next(v) {
				if p < f.End && p != fork && mine[p] == mine[v]-1 && mine[p] > 0 && other[p] == 0 {
					return p
				}
			}
			return -1
		}
		one, two := comes(left, right), comes(right, left)
		if one < 0 || two < 0 || left[v] == right[v] && f.forks().Stay(one).Open+f.forks().Stay(two).Open == 0 {
			continue
		}
		told[v] = true
		d := f.report(n.ID.Span, "%q runs once for each branch that comes: from %q after %s, and from %q after %s; give it join: {wait: all}",
			n.ID.Value, f.Name(one), plural(left[v], "step"), f.Name(two), plural(right[v], "step"))
		d.Related = append(d.Related, f.related(f.graph.Nodes[fork].ID.Span, "the branches begin here"))
	}
}

// siblings is a fan-out that leads straight to both nodes, to one of which other ways lead,
// too: see otherWaysIn. It is -1 when there is none.
func (f *facts) siblings(x, y int) int {
	if f.theSiblings == nil {
		f.theSiblings = map[[2]int]int{}
		for fork, groups := range f.flow().Groups {
			for i := range groups {
				if g := &groups[i]; !g.Subset && len(g.Targets) <= maxBegun && f.flow().Reached[fork] && !f.isDead(g) {
					f.addSiblings(fork, g.Targets)
				}
			}
		}
	}
	if fork, ok := f.theSiblings[[2]int{min(x, y), max(x, y)}]; ok {
		return fork
	}
	return -1
}

func (f *facts) addSiblings(fork int, targets []int) {
	for i, x := range targets {
		for _, y := range targets[:i] {
			pair := [2]int{min(x, y), max(x, y)}
			if _, known := f.theSiblings[pair]; !known && x != y {
				f.theSiblings[pair] = fork
			}
		}
	}
}

// partingOf is where two nodes may come to run at the same time, as forks.together tells,
// or straight behind a fan-out.
func (f *facts) partingOf(k *concurrency.Branches, x, y int) (concurrency.Parting, bool) {
	if at, ok := k.Together(x, y); ok {
		return at, true
	}
	fork := f.siblings(x, y)
	return concurrency.Parting{Node: fork}, fork >= 0
}

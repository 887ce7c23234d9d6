// Branches that begin at nodes to which other ways lead, too.

package lint

import "github.com/graphrun/graphrun/internal/analysis/concurrency"

// maxBegun bounds how many such branches are followed for one graph.
const maxBegun = 64

// siblings is a fan-out that leads straight to both nodes, to one of which other ways
// lead, too: the dominators, by which branches are told otherwise, don't know it. It is -1 when there is none.
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

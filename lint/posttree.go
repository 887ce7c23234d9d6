// Dominators and post-dominators: what every way from the start to a node, and
// from a node to END, passes.

package lint

import "github.com/graphrun/graphrun/internal/graphalg"

// dominators tells which vertices every path from the start to a vertex passes.
func (f *facts) dominators() *graphalg.Tree {
	if f.theTree == nil {
		f.theTree = f.flow().graph.Dominators(f.start())
	}
	return f.theTree
}

// postTree tells which vertices every path from a vertex to END passes. A path
// into a fail node is no such path: it ends the run.
type postTree struct{ tree *graphalg.Tree }

func (f *facts) postTree() *postTree {
	if f.thePostTree == nil {
		f.thePostTree = &postTree{f.flow().back.Dominators(f.end)}
	}
	return f.thePostTree
}

// covers reports whether every path from w to END passes v.
func (p *postTree) covers(v, w int) bool { return p.tree.Covers(v, w) }

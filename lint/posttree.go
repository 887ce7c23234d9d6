// Post-dominators: what every way to END passes.

package lint

import "github.com/graphrun/graphrun/internal/graphalg"

// postTree tells which vertices every path from a vertex to END passes. A path
// into a fail node is no such path: it ends the run.
type postTree struct{ tree *graphalg.Tree }

func (f *facts) postTree() *postTree {
	return &postTree{f.flow().back.Dominators(f.end)}
}

// covers reports whether every path from w to END passes v.
func (p *postTree) covers(v, w int) bool { return p.tree.Covers(v, w) }

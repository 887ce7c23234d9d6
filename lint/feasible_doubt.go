// What keeps a path from being proven although no condition contradicts it.

package lint

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// proves reports whether what is known is sure to let a run get to its next
// vertex; nil knowledge proves nothing.
func (k *knowledge) proves(v int) bool {
	if k == nil || k.unsure {
		return false
	}
	limit := k.f.graph.Limits.MaxSteps
	return limit == 0 || v == k.f.end || k.tally.step < limit
}

// doubts reports whether a group may be unable to fire for reasons that
// conditions don't tell: what can't fail, or chooses by an expression.
func (k *knowledge) doubts(n *spec.Node, g *group) bool {
	switch g.kind {
	case onFailure:
		return !k.tally.refused && !canFail(n) || k.tally.refused && k.f.bound.Edges[g.edges[0]].When != nil
	case byGoto:
		return n.Goto.IsSet() || !canFail(n)
	case byGuard:
		return g.perhaps
	}
	return false
}

// doubtful reports whether a condition reads what the path has computed.
func (k *knowledge) doubtful(t *eval.Tree) bool {
	free := canFail(k.f.graph.Nodes[k.at]) || k.f.graph.Nodes[k.at].Kind.Value == "human"
	found := false
	t.Each(func(p *eval.Tree) {
		if p.Op != eval.TreePath {
			return
		}
		_, declared := k.f.keyOf[p.Path[0]]
		_, counted := k.counted(p.Path)
		switch {
		case declared:
			found = found || k.vague[p.Path[0]]
		case counted:
		case p.Path[0] == "output" || p.Path[0] == "error":
			found = found || !free
		default:
			found = true
		}
	})
	return found
}

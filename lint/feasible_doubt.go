// What keeps a path from being proven although no condition contradicts it.

package lint

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// sureWithout is sure of a path on which a node does not succeed; -1 for any.
func (f *facts) sureWithout(node int, path []int, accept func(k *knowledge) bool) bool {
	tries := maxWalks
	start := f.atStart()
	start.fails = node
	return f.walkable(path, start, &tries, func(k *knowledge) bool {
		return k.proves(path[len(path)-1]) && (accept == nil || accept(k))
	})
}

// proves reports whether what is known is sure to let a run get to its next
// vertex; nil knowledge proves nothing.
func (k *knowledge) proves(v int) bool {
	if k == nil || k.unsure {
		return false
	}
	limit := k.f.graph.Limits.MaxSteps
	return limit == 0 || v == k.f.End || k.counts.step < limit
}

// doubts reports whether a group may be unable to fire for reasons that
// conditions don't tell: what can't fail, or chooses by an expression.
func (k *knowledge) doubts(n *spec.Node, g *controlflow.Group) bool {
	switch g.Kind {
	case controlflow.OnFailure:
		return !k.counts.refused && !canFail(n) || k.counts.refused && k.f.bound.Edges[g.Edges[0]].When != nil
	case controlflow.ByGoto:
		return n.Goto.IsSet() || !canFail(n)
	case controlflow.ByGuard:
		return g.Subset
	}
	return false
}

// yielded lists the state keys that take their values from a node's output, so
// that conditions on them and on the output are about the same.
func (f *facts) yielded(v int) []string {
	var out []string
	for _, w := range f.access()[v].Writes {
		if f.graph.Nodes[v].Kind.Value != "set" && (w.Value == nil || dataflow.ReadsKey(w.Value, "output")) {
			out = append(out, w.Name.Value)
		}
	}
	return out
}

// doubtful reports whether a condition reads what the path has computed, or says what is
// not understood.
func (k *knowledge) doubtful(t *eval.Tree) bool {
	free := canFail(k.f.graph.Nodes[k.at]) || k.f.graph.Nodes[k.at].Kind.Value == "human"
	found := false
	t.Each(func(p *eval.Tree) {
		if found = found || p.Op == eval.TreeOther; p.Op != eval.TreePath {
			return
		}
		_, declared := k.f.keyOf[p.Path[0]]
		_, counted := k.counted(p.Path)
		switch {
		case declared:
			found = found || k.vague[p.Path[0]]
		case counted:
		case p.Path[0] == "output" || p.Path[0] == "error":
			found = found || !free || len(k.f.yielded(k.at)) > 0
		default:
			found = true
		}
	})
	return found
}

// learn takes in how the conditions of a group came out: of edges that may all fire, all
// of them where none did.
func (k *knowledge) learn(g *controlflow.Group, outcome bool) {
	edges := g.Edges
	if !g.Subset { // those of one declaration, which have one condition
		edges = edges[:1]
	}
	for _, e := range edges {
		if when := k.f.bound.Edges[e].When; when != nil {
			k.condition(when, when.Tree(), outcome)
		}
	}
}

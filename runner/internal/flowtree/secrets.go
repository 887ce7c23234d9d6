// Which nodes have to do with secrets.

package flowtree

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// HasSecrets reports whether the graph, or one that it runs, knows secrets.
func (t *Tree) HasSecrets() bool {
	return slices.ContainsFunc(t.all, func(one *Tree) bool {
		return len(one.Graph.Secrets) > 0 || slices.ContainsFunc(one.Graph.State, func(key *spec.StateKey) bool { return key.Secret })
	})
}

// Confides reports whether a node writes a secret key: what it says may be what it
// writes, which nobody knows to be secret before the node has ended.
func (t *Tree) Confides(g *spec.Graph, node string) bool {
	n := g.Node(node)
	return n != nil && slices.ContainsFunc(g.State, func(key *spec.StateKey) bool {
		return key.Secret && writes(n, key.Name.Value)
	})
}

func writes(n *spec.Node, key string) bool {
	return slices.ContainsFunc(n.Writes.Keys, func(t spec.Text) bool { return t.Value == key }) ||
		slices.ContainsFunc(n.Writes.Exprs, func(e spec.NamedExpr) bool { return e.Name.Value == key })
}

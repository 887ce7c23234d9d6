// Which nodes have to do with secrets.

package flowtree

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// HasSecrets reports whether a graph, or one that it runs, knows secrets.
func (t *Tree) HasSecrets() bool {
	if len(t.Graph.Secrets) > 0 {
		return true
	}
	for _, key := range t.Graph.State {
		if key.Secret {
			return true
		}
	}
	for _, inner := range [...]map[string]*Tree{t.Children, t.tools} {
		for _, child := range inner { //lint:ignore mapiter one of them is enough, whichever
			if child != nil && child.HasSecrets() {
				return true
			}
		}
	}
	return false
}

// Confides reports whether a node writes a secret key: what it says may be what it
// writes, which nobody knows to be secret before the node has ended.
func (t *Tree) Confides(node string) bool {
	n := t.Graph.Node(node)
	return n != nil && slices.ContainsFunc(t.Graph.State, func(key *spec.StateKey) bool {
		return key.Secret && writes(n, key.Name.Value)
	})
}

func writes(n *spec.Node, key string) bool {
	return slices.ContainsFunc(n.Writes.Keys, func(t spec.Text) bool { return t.Value == key }) ||
		slices.ContainsFunc(n.Writes.Exprs, func(e spec.NamedExpr) bool { return e.Name.Value == key })
}

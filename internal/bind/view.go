// Who reads: the node and the moment that an expression belongs to.

package bind

import (
	"maps"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// view is where an expression stands. The zero node is the graph itself.
type view struct {
	node  *spec.Node
	where place
	// template: a path that is missing is a matter of template-missing, which
	// knows the ways to the node.
	template bool
	// fixed is the whole scope, for what sees no more of the graph.
	fixed *eval.Scope
}

// localKey names a scope that holds the types of one node's input.
type localKey struct {
	node     int
	where    place
	item     bool
	template bool
}

// scope is what a text sees in a view. Only texts that speak of what differs
// from node to node get a scope of the node's own, so that equal texts
// elsewhere are one program.
func (b *binder) scope(at view, text string) *eval.Scope {
	if at.fixed != nil {
		return at.fixed
	}
	base := b.scopes.at(at.where)
	if at.where == afterRun {
		base = b.scopes.afterNode(at.node)
	}
	if at.node == nil || !strings.Contains(text, "input") && !strings.Contains(text, "item") {
		return base
	}
	item, isItem := b.items[at.node.Index]
	isItem = isItem && at.where != afterRun
	key := localKey{at.node.Index, at.where, isItem, at.template}
	if scope := b.local[key]; scope != nil {
		return scope
	}
	names := map[string]eval.Type{}
	maps.Copy(names, b.inputNames(at.node))
	if at.template {
		delete(names, "input")
	}
	if isItem {
		names["item"] = item
	}
	if len(names) == 0 {
		return base
	}
	scope := base.With(names, nil)
	b.local[key] = scope
	return scope
}

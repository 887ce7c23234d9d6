// The view of an expression: the names that it may read.

package bind

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// view describes the place of an expression.
type view struct {
	node     *spec.Node // nil for the graph itself
	where    place
	template bool        // the text is a template, whose paths the rule template-missing checks
	own      bool        // the node's `reads` limits the expression
	assigned []string    // the state keys that the node has just set
	fixed    *eval.Scope // the scope, if it does not depend on the place
}

// scopeOf returns the names that a text in a view may read.
func (b *binder) scopeOf(at view, text string) *eval.Scope {
	switch {
	case at.fixed != nil:
		return at.fixed
	case at.node == nil:
		return b.scopes.scopeAt(at.where)
	}
	scope := b.scopes.scopeAt(at.where)
	if at.where == afterRun {
		scope = b.scopes.scopeAfter(at.node, text)
	}
	if strings.Contains(text, "branches") && !b.mayJoin(at.node) {
		scope = scope.Refusing(map[string]string{
			"branches": "branches are known at a join only, and " + strconv.Quote(at.node.ID.Value) + " has no join",
		})
	}
	if at.own && at.node.HasReads {
		scope = b.limitScope(scope, at)
	}
	if !strings.Contains(text, "input") && !strings.Contains(text, "item") { // saves computing their types
		return scope
	}
	names := maps.Clone(b.inputNames(at.node))
	if at.template {
		delete(names, "input")
	}
	if item, ok := b.items[at.node.Index]; ok && at.where != afterRun {
		if names == nil {
			names = map[string]eval.Type{}
		}
		names["item"] = item
	}
	return scope.With(names, nil)
}

// mayJoin reports whether branches may join at a node.
func (b *binder) mayJoin(node *spec.Node) bool {
	if node.Join != nil {
		return true
	}
	auto := func(p *spec.Parallel) bool { return p != nil && p.Join == "auto" }
	if !auto(&b.graph.Parallel) && !slices.ContainsFunc(b.graph.Nodes, func(n *spec.Node) bool { return auto(n.Parallel) }) {
		return false
	}
	return b.arrivals.dynamic || b.arrivals.fans && len(b.arrivals.into[node.Index]) > 0
}

// limitScope returns a scope without the state keys that the node does not read.
func (b *binder) limitScope(base *eval.Scope, at view) *eval.Scope {
	readable := map[string]bool{}
	for _, name := range at.node.Reads {
		readable[name.Value] = true
	}
	for _, name := range at.assigned {
		readable[name] = true
	}
	refuse := map[string]string{}
	keys := make(map[string]eval.Type, len(readable))
	for name, t := range b.scopes.yields.keys {
		if readable[name] {
			keys[name] = t
		} else {
			refuse[name] = strconv.Quote(name) + " is none of the reads of " + strconv.Quote(at.node.ID.Value) + " (" + b.listReads(at.node) + ")"
		}
	}
	names := map[string]eval.Type{"state": eval.Object(keys, false)}
	for name := range readable { // undeclared keys, where they are allowed
		if keys[name].IsAny() {
			keys[name], names[name] = eval.Any(), eval.Any()
		}
	}
	return base.Closed().Refusing(refuse).With(names, nil)
}

// listReads lists the state keys that a node reads.
func (b *binder) listReads(node *spec.Node) string {
	if len(node.Reads) == 0 {
		return "it reads no state"
	}
	names := make([]string, len(node.Reads))
	for i, name := range node.Reads {
		names[i] = name.Value
	}
	return strings.Join(names, ", ")
}

// configView returns the view of a key of a node's kind. Some may read secrets (GraphSpec §2).
func configView(node *spec.Node, key string) view {
	if kind := node.Kind.Value; kind == "http" || kind == "exec" && key == "env" {
		return view{node: node, where: withSecrets, own: true}
	}
	return view{node: node, where: beforeRun, own: true}
}

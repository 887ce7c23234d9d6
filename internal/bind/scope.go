// The names that expressions of a graph may read (GraphSpec §8), by their place and node.

package bind

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// place is the place of an expression, which decides what names the expression may read.
type place int

const (
	beforeRun   place = iota + 1 // before the node runs, without output
	withSecrets                  // before the node runs, with secrets
	afterRun                     // after the node has run, with output, outcome, error
)

// scopes builds the scope of each place.
type scopes struct {
	graph   *spec.Graph
	outputs outputs
	common  map[string]eval.Type // the names of all places
	after   map[string]eval.Type // the additional names of afterRun
	secrets eval.Type
	byPlace [afterRun + 1]*eval.Scope
}

func newScopes(g *spec.Graph, child func(*spec.Node) (eval.Type, bool)) *scopes {
	s := &scopes{
		graph:   g,
		outputs: newOutputs(g, child),
		common:  make(map[string]eval.Type, len(g.State)+16),
	}
	maps.Copy(s.common, s.outputs.keys)
	maps.Copy(s.common, contextNames)
	s.addByNode(s.common)
	s.common["state"] = eval.Object(s.outputs.keys, !g.StrictState)
	s.after = map[string]eval.Type{
		"output":  eval.Any(),
		"outcome": eval.String(),
		"error":   eval.FailureType(),
	}
	secrets := make(map[string]eval.Type, len(g.Secrets))
	for _, secret := range g.Secrets {
		secrets[secret.Name.Value] = eval.String()
	}
	s.secrets = eval.Object(secrets, false)
	return s
}

// addByNode adds the names with a member for each node.
func (s *scopes) addByNode(names map[string]eval.Type) {
	failure := eval.FailureType()
	for name, member := range map[string]func(n *spec.Node) eval.Type{
		"visits":  func(*spec.Node) eval.Type { return eval.Int() },
		"history": func(n *spec.Node) eval.Type { return eval.List(s.outputs.outputType(n)) },
		"nodes": func(n *spec.Node) eval.Type {
			return eval.Object(map[string]eval.Type{
				"output": s.outputs.outputType(n), "visits": eval.Int(), "outcome": eval.String(), "error": failure, "partial": eval.Any(), "reason": eval.Any(),
			}, false)
		},
		"branches": func(n *spec.Node) eval.Type {
			return eval.Object(map[string]eval.Type{"output": s.outputs.outputType(n), "error": failure}, false)
		},
	} {
		names[name] = eval.LazyObject(func() map[string]eval.Type {
			out := make(map[string]eval.Type, len(s.graph.Nodes))
			for _, n := range s.graph.Nodes {
				out[n.ID.Value] = member(n)
			}
			return out
		})
	}
}

// contextNames are the names that depend on neither state nor nodes.
var contextNames = map[string]eval.Type{
	"input": eval.Any(), "inputs": eval.Object(nil, true), "item": eval.Any(), "index": eval.Int(),
	"node": eval.String(), "goal": eval.String(), "visit": eval.Int(), "step": eval.Int(),
	"last": eval.Object(map[string]eval.Type{"text": eval.String(), "tool_result": eval.Any()}, false),
	"run": eval.Object(map[string]eval.Type{
		"id": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true),
		"status": eval.String(), "reason": eval.String(), "now": eval.String(), "dir": eval.String(),
	}, false),
}

// scopeAt returns the scope of a place at any node.
func (s *scopes) scopeAt(where place) *eval.Scope {
	if s.byPlace[where] == nil {
		s.byPlace[where] = s.newScope(where)
	}
	return s.byPlace[where]
}

func (s *scopes) newScope(where place) *eval.Scope {
	opts := s.scopeOptions()
	if where == withSecrets {
		delete(opts.Refuse, "secrets")
	}
	if where != afterRun {
		for _, name := range []string{"output", "outcome"} {
			opts.Refuse[name] = name + " is known only after the node has run"
		}
		opts.Refuse["output"] += "; what another node yields is nodes.<id>.output, or input behind an edge from it"
	}
	scope := eval.NewScope(s.common, opts)
	switch where {
	case afterRun:
		return scope.With(s.after, nil)
	case withSecrets:
		scope = scope.With(map[string]eval.Type{"secrets": s.secrets}, nil)
	}
	return scope.With(map[string]eval.Type{"error": s.after["error"]}, nil) // the error of the previous node
}

// scopeAfter returns the scope of a text after a node, with the type of its output. The members of a
// declared output are names, too.
func (s *scopes) scopeAfter(node *spec.Node, text string) *eval.Scope {
	if !declaresOutput(node) && (!strings.Contains(text, "output") || s.outputs.outputType(node).IsAny()) {
		return s.scopeAt(afterRun) // a common scope, so that equal texts share a program
	}
	output := s.outputs.outputType(node)
	var alias map[string][]string
	if properties, ok := node.Output["properties"].(map[string]any); ok && !node.Each.IsSet() {
		alias = make(map[string][]string, len(properties))
		for name := range properties {
			if _, taken := s.common[name]; !taken && s.after[name].IsAny() {
				alias[name] = []string{"output", name}
			}
		}
	}
	return s.scopeAt(afterRun).With(map[string]eval.Type{"output": output}, alias)
}

func (s *scopes) scopeOptions() eval.ScopeOptions {
	return eval.ScopeOptions{
		Roots: []string{"state"},
		Open:  !s.graph.StrictState,
		Refuse: map[string]string{
			"secrets": "a secret may stand only in http nodes, exec env, tools and providers",
		},
	}
}

// reducerScope returns the scope of a reducer.
func reducerScope(key *spec.StateKey) *eval.Scope {
	return eval.NewScope(map[string]eval.Type{
		"current": eval.FromSchema(key.Schema),
		"update":  eval.Any(),
	}, eval.ScopeOptions{})
}

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
		scope = scope.WithRefused(map[string]string{
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
	return b.arrivals.dynamic || b.arrivals.mayMeet && len(b.arrivals.into[node.Index]) > 0
}

// limitScope returns a scope without the state keys that the node does not read.
func (b *binder) limitScope(base *eval.Scope, at view) *eval.Scope {
	readable := map[string]bool{}
	reads := spec.Strings(at.node.Reads)
	for _, name := range slices.Concat(reads, at.assigned) {
		readable[name] = true
	}
	described := cmp.Or(strings.Join(reads, ", "), "it reads no state")
	refuse := map[string]string{}
	keys := make(map[string]eval.Type, len(readable))
	for name, t := range b.scopes.outputs.keys {
		if readable[name] {
			keys[name] = t
		} else {
			refuse[name] = strconv.Quote(name) + " is none of the reads of " + strconv.Quote(at.node.ID.Value) + " (" + described + ")"
		}
	}
	names := map[string]eval.Type{"state": eval.Object(keys, false)}
	for name := range readable { // undeclared keys, where they are allowed
		if keys[name].IsAny() {
			keys[name], names[name] = eval.Any(), eval.Any()
		}
	}
	return base.WithoutUndeclared().WithRefused(refuse).With(names, nil)
}

// configView returns the view of a key of a node's kind. Some may read secrets (GraphSpec §2).
func configView(node *spec.Node, key string) view {
	if kind := node.Kind.Value; kind == "http" || kind == "exec" && key == "env" {
		return view{node: node, where: withSecrets, own: true}
	}
	return view{node: node, where: beforeRun, own: true}
}

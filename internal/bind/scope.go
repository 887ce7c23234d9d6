// The names that expressions of a graph may read (GraphSpec §8), by phase and node.

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

// phase says when an expression is evaluated. It decides which names the expression may read.
type phase int

const (
	beforeRun   phase = iota + 1 // before the node runs, without output
	withSecrets                  // before the node runs, with secrets
	afterRun                     // after the node has run, with output, outcome, error
)

// scopes builds the scope of each phase.
type scopes struct {
	graph   *spec.Graph
	outputs outputs
	common  map[string]eval.Type // the names of all phases
	after   map[string]eval.Type // the additional names of afterRun
	secrets eval.Type
	byPhase [afterRun + 1]*eval.Scope
}

func newScopes(g *spec.Graph, child func(*spec.Node) (eval.Type, bool)) *scopes {
	s := &scopes{
		graph:   g,
		outputs: newOutputs(g, child),
		common:  make(map[string]eval.Type, len(g.State)+16),
	}
	maps.Copy(s.common, s.outputs.keys)
	maps.Copy(s.common, contextNames)
	s.addNodeNames(s.common)
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

// addNodeNames adds the names with a member for each node, such as visits.
func (s *scopes) addNodeNames(names map[string]eval.Type) {
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

// contextNames maps the names that depend on neither state nor nodes to their types.
var contextNames = map[string]eval.Type{
	"input": eval.Any(), "inputs": eval.Object(nil, true), "item": eval.Any(), "index": eval.Int(),
	"node": eval.String(), "goal": eval.String(), "visit": eval.Int(), "step": eval.Int(),
	"last": eval.Object(map[string]eval.Type{"text": eval.String(), "tool_result": eval.Any()}, false),
	"run": eval.Object(map[string]eval.Type{
		"id": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true),
		"status": eval.String(), "reason": eval.String(), "now": eval.String(), "dir": eval.String(),
	}, false),
}

// scopeAt returns the scope of a phase, the same for all nodes.
func (s *scopes) scopeAt(where phase) *eval.Scope {
	if s.byPhase[where] == nil {
		s.byPhase[where] = s.newScope(where)
	}
	return s.byPhase[where]
}

func (s *scopes) newScope(where phase) *eval.Scope {
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

// scopeAfter returns the scope of a text that is evaluated after a node, with the type of the node's
// output. An expression may also read members of a declared output by their bare names.
func (s *scopes) scopeAfter(node *spec.Node, text string) *eval.Scope {
	if !declaresOutput(node) && (!strings.Contains(text, "output") || s.outputs.outputType(node).IsAny()) {
		return s.scopeAt(afterRun) // a shared scope, so that equal texts share a program
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

// exprSite is the position of an expression in the graph.
type exprSite struct {
	node           *spec.Node // nil for the graph itself
	phase          phase
	template       bool        // the text is a template: rule template-missing checks its paths
	limitedToReads bool        // the node's `reads` limit the expression
	assigned       []string    // the state keys that the node has just set
	fixed          *eval.Scope // the scope, if it does not depend on the site
}

// findScope returns the scope of a text at a site.
func (b *binder) findScope(at exprSite, text string) *eval.Scope {
	switch {
	case at.fixed != nil:
		return at.fixed
	case at.node == nil:
		return b.scopes.scopeAt(at.phase)
	}
	scope := b.scopes.scopeAt(at.phase)
	if at.phase == afterRun {
		scope = b.scopes.scopeAfter(at.node, text)
	}
	if strings.Contains(text, "branches") && !b.mayJoin(at.node) {
		scope = scope.WithRefused(map[string]string{
			"branches": "branches are known at a join only, and " + strconv.Quote(at.node.ID.Value) + " has no join",
		})
	}
	if at.limitedToReads && at.node.HasReads {
		scope = b.restrictToReads(scope, at)
	}
	if !strings.Contains(text, "input") && !strings.Contains(text, "item") { // their types need not be computed
		return scope
	}
	names := maps.Clone(b.inputTypes(at.node))
	if at.template {
		delete(names, "input")
	}
	if item, ok := b.items[at.node.Index]; ok && at.phase != afterRun {
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

// restrictToReads returns a scope without the state keys that the node does not read.
func (b *binder) restrictToReads(base *eval.Scope, at exprSite) *eval.Scope {
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
	for name := range readable { // keys that are not declared, but allowed
		if keys[name].IsAny() {
			keys[name], names[name] = eval.Any(), eval.Any()
		}
	}
	return base.WithoutUndeclared().WithRefused(refuse).With(names, nil)
}

// configSite returns the site of a key of a node's kind. Some keys may read secrets (GraphSpec §2).
func configSite(node *spec.Node, key string) exprSite {
	if kind := node.Kind.Value; kind == "http" || kind == "exec" && key == "env" {
		return exprSite{node: node, phase: withSecrets, limitedToReads: true}
	}
	return exprSite{node: node, phase: beforeRun, limitedToReads: true}
}

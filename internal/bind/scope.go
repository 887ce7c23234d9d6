// The names that expressions of a graph may read (GraphSpec §8).

package bind

import (
	"maps"
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
	yields  yields
	common  map[string]eval.Type // the names of all places
	after   map[string]eval.Type // the additional names of afterRun
	secrets eval.Type
	byPlace [afterRun + 1]*eval.Scope
}

func newScopes(g *spec.Graph, child func(*spec.Node) (eval.Type, bool)) *scopes {
	s := &scopes{
		graph:  g,
		yields: newYields(g, child),
		common: make(map[string]eval.Type, len(g.State)+16),
	}
	maps.Copy(s.common, s.yields.keys)
	maps.Copy(s.common, contextNames)
	s.addByNode(s.common)
	s.common["state"] = eval.Object(s.yields.keys, !g.StrictState)
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
		"history": func(n *spec.Node) eval.Type { return eval.List(s.yields.outputType(n)) },
		"nodes": func(n *spec.Node) eval.Type {
			return eval.Object(map[string]eval.Type{
				"output": s.yields.outputType(n), "visits": eval.Int(), "outcome": eval.String(), "error": failure, "partial": eval.Any(), "reason": eval.Any(),
			}, false)
		},
		"branches": func(n *spec.Node) eval.Type {
			return eval.Object(map[string]eval.Type{"output": s.yields.outputType(n), "error": failure}, false)
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
	if !declaresOutput(node) && (!strings.Contains(text, "output") || s.yields.outputType(node).IsAny()) {
		return s.scopeAt(afterRun) // a common scope, so that equal texts share a program
	}
	output := s.yields.outputType(node)
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

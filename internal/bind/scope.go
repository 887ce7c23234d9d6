// The names that expressions of a graph may read, by place (GraphSpec §8).

package bind

import (
	"maps"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// place says where an expression stands, which decides what it sees.
type place int

const (
	beforeRun   place = iota + 1 // before the node runs: no output yet
	withSecrets                  // before the node runs, secrets allowed
	afterRun                     // after the node ran: output, outcome, error
	wholeRun                     // before any node runs
)

// scopes builds the scope of each place once.
type scopes struct {
	graph   *spec.Graph
	yields  yields
	common  map[string]eval.Type // names seen everywhere
	after   map[string]eval.Type // the additions of afterRun
	secrets eval.Type
	byPlace map[place]*eval.Scope
	// bySource and byShape hold afterRun scopes of nodes whose output is known.
	bySource map[int]*eval.Scope
	byShape  map[string]*eval.Scope
}

func newScopes(g *spec.Graph, child func(*spec.Node) (eval.Type, bool)) *scopes {
	s := &scopes{
		graph:    g,
		yields:   yields{g, child},
		common:   make(map[string]eval.Type, len(g.State)+16),
		byPlace:  map[place]*eval.Scope{},
		bySource: map[int]*eval.Scope{},
		byShape:  map[string]*eval.Scope{},
	}
	for _, key := range g.State {
		s.common[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	maps.Copy(s.common, contextNames(g, &s.yields))
	keys := make(map[string]eval.Type, len(g.State))
	for _, key := range g.State {
		keys[key.Name.Value] = s.common[key.Name.Value]
	}
	s.common["state"] = eval.Object(keys, !g.StrictState)
	s.after = map[string]eval.Type{
		"output":  eval.Any(),
		"outcome": eval.String(),
		"error":   errorType(),
	}
	secrets := make(map[string]eval.Type, len(g.Secrets))
	for _, secret := range g.Secrets {
		secrets[secret.Name.Value] = eval.String()
	}
	s.secrets = eval.Object(secrets, false)
	return s
}

// contextNames are the names that do not depend on the state.
func contextNames(g *spec.Graph, y *yields) map[string]eval.Type {
	visits := make(map[string]eval.Type, len(g.Nodes))
	history := make(map[string]eval.Type, len(g.Nodes))
	nodes := make(map[string]eval.Type, len(g.Nodes))
	branches := make(map[string]eval.Type, len(g.Nodes))
	failure := errorType()
	for _, node := range g.Nodes {
		id := node.ID.Value
		output, _ := y.of(node)
		visits[id], history[id] = eval.Int(), eval.List(output)
		nodes[id] = eval.Object(map[string]eval.Type{
			"output": output, "visits": eval.Int(), "partial": eval.Any(),
		}, false)
		branches[id] = eval.Object(map[string]eval.Type{"output": output, "error": failure}, false)
	}
	open := func(fields map[string]eval.Type) eval.Type { return eval.Object(fields, true) }
	return map[string]eval.Type{
		"visits":   eval.Object(visits, false),
		"history":  eval.Object(history, false),
		"nodes":    eval.Object(nodes, false),
		"input":    eval.Any(),
		"inputs":   open(nil),
		"item":     eval.Any(),
		"index":    eval.Int(),
		"branches": eval.Object(branches, false),
		"node":     eval.String(),
		"visit":    eval.Int(),
		"step":     eval.Int(),
		"goal":     eval.String(),
		"last": eval.Object(map[string]eval.Type{
			"text": eval.String(), "tool_result": eval.Any(),
		}, false),
		"run": eval.Object(map[string]eval.Type{
			"id": eval.String(), "started_at": eval.String(), "input": open(nil),
		}, false),
	}
}

func errorType() eval.Type {
	return eval.Object(map[string]eval.Type{
		"kind": eval.String(), "message": eval.String(), "node": eval.String(),
		"attempt": eval.Int(), "details": eval.Any(),
	}, false)
}

// at returns the scope of a place without regard to a source node.
func (s *scopes) at(where place) *eval.Scope {
	if scope := s.byPlace[where]; scope != nil {
		return scope
	}
	names := maps.Clone(s.common)
	opts := s.options()
	switch where {
	case withSecrets:
		names["secrets"] = s.secrets
		delete(opts.Refuse, "secrets")
	case afterRun:
		maps.Copy(names, s.after)
	}
	if where != afterRun {
		for name := range s.after {
			opts.Refuse[name] = name + " is known only after the node has run"
		}
	}
	scope := eval.NewScope(names, opts)
	s.byPlace[where] = scope
	return scope
}

// afterNode returns the scope of what is evaluated after a node: its output has
// the type that is known of it, and bare names of its declared output are those
// of `output`.
func (s *scopes) afterNode(node *spec.Node) *eval.Scope {
	if node == nil {
		return s.at(afterRun)
	}
	output, shape := s.yields.of(node)
	switch shape {
	case "":
		return s.at(afterRun)
	case "own":
		if scope := s.bySource[node.Index]; scope != nil {
			return scope
		}
	default:
		if scope := s.byShape[shape]; scope != nil {
			return scope
		}
	}
	alias := map[string][]string{}
	if properties, ok := node.Output["properties"].(map[string]any); ok && !node.Each.IsSet() {
		for name := range properties {
			if _, taken := s.common[name]; !taken && s.after[name].IsAny() {
				alias[name] = []string{"output", name}
			}
		}
	}
	scope := s.at(afterRun).With(map[string]eval.Type{"output": output}, alias)
	if shape == "own" {
		s.bySource[node.Index] = scope
	} else {
		s.byShape[shape] = scope
	}
	return scope
}

func (s *scopes) options() eval.ScopeOptions {
	return eval.ScopeOptions{
		Roots: []string{"state"},
		Open:  !s.graph.StrictState,
		Refuse: map[string]string{
			"secrets": "a secret may stand only in http nodes, exec env, tools and providers",
		},
	}
}

// reducerScope is what a reducer expression sees.
func reducerScope(key *spec.StateKey) *eval.Scope {
	return eval.NewScope(map[string]eval.Type{
		"current": eval.FromSchema(key.Schema),
		"update":  eval.Any(),
	}, eval.ScopeOptions{})
}

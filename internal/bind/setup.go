// What a run sets up once: tools and providers.

package bind

import (
	"maps"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// setup binds the entries of a top-level map, such as `tools`: what they set up
// outlives every node, so they see only what holds for the whole run.
func (b *binder) setup(name string, entries []spec.Field) []Field {
	if len(entries) == 0 {
		return nil
	}
	table := find(spec.TopKeys(), name)
	out := make([]Field, 0, len(entries))
	for i := range entries {
		value := b.keyed(view{fixed: b.scopes.ofRun()}, &entries[i].Value, table.Elem)
		out = append(out, Field{Name: entries[i].Key.Value, Value: value})
	}
	return out
}

// notices binds what people are told of a run.
func (b *binder) notices(entries []spec.Value) []Field {
	if len(entries) == 0 {
		return nil
	}
	run := eval.Object(map[string]eval.Type{
		"id": eval.String(), "graph": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true),
		"status": eval.String(), "reason": eval.String(),
	}, false)
	scope := eval.NewScope(map[string]eval.Type{
		"run": run, "question": eval.Object(nil, true), "error": errorType(), "output": eval.Any(), "goal": eval.String(),
	}, eval.ScopeOptions{Refuse: b.scopes.options().Refuse})
	table := find(spec.TopKeys(), "notify")
	out := make([]Field, len(entries))
	for i := range entries {
		out[i] = Field{Name: "notice", Value: b.keyed(view{fixed: scope}, &entries[i], table.Elem)}
	}
	return out
}

// approvals compiles the conditions under which people approve calls of tools.
func (b *binder) approvals(tools []spec.Field) []*eval.Program {
	var out []*eval.Program
	for i := range tools {
		approve := tools[i].Value.Get("approve")
		if approve == nil || approve.Kind != spec.String || approve.Text.Value == "always" {
			continue
		}
		if program := b.program(view{fixed: eval.ApprovalScope()}, approve.Text, eval.Condition); program != nil {
			out = append(out, program)
		}
	}
	return out
}

// retryWhen compiles the conditions of a node's retry blocks. It returns nil if no block has
// one.
func (b *binder) retryWhen(node *spec.Node) []*eval.Program {
	blocks := node.RetryBlocks(b.graph)
	var out []*eval.Program
	for i := range blocks {
		if blocks[i].When.IsSet() {
			if out == nil {
				out = make([]*eval.Program, len(blocks))
			}
			out[i] = b.program(view{fixed: eval.RetryScope()}, blocks[i].When, eval.Condition)
		}
	}
	return out
}

// checkToolRetries reports errors in the conditions of the retry blocks of tools. The tools
// themselves compile them again when they run.
func (b *binder) checkToolRetries(tools []spec.Field) {
	for i := range tools {
		retry := tools[i].Value.Get("retry")
		if retry == nil {
			continue
		}
		blocks := retry.Items
		if retry.Kind == spec.Map {
			blocks = []spec.Value{*retry}
		}
		for j := range blocks {
			if when := blocks[j].Get("when"); when != nil && when.Kind == spec.String {
				b.program(view{fixed: eval.RetryScope()}, when.Text, eval.Condition)
			}
		}
	}
}

// lasting is what of `run` holds from its beginning to its end.
func lasting() eval.Type {
	return eval.Object(map[string]eval.Type{
		"id": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true), "dir": eval.String(),
	}, false)
}

// ofRun is the scope of what is set up for the whole run.
func (s *scopes) ofRun() *eval.Scope {
	names := map[string]eval.Type{"secrets": s.secrets, "goal": s.common["goal"], "run": lasting()}
	refuse := maps.Clone(s.options().Refuse)
	delete(refuse, "secrets")
	changes := func(name string) {
		refuse[name] = name + " changes during a run; tools and providers see goal, run and secrets, which don't"
	}
	for name := range s.common {
		if _, known := names[name]; !known {
			changes(name)
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Refuse: refuse})
}

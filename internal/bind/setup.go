// Tools, providers, notices, and conditions of approvals and retries.

package bind

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// bindSetup binds the entries of `tools` or `providers`. They may read only names that do not change
// during a run.
func (b *binder) bindSetup(name string, entries []spec.Field) []Field {
	out := make([]Field, len(entries))
	for i := range entries {
		at := exprSite{fixed: b.scopes.runScope()}
		out[i] = Field{entries[i].Key.Value, b.bindKey(at, &entries[i].Value, spec.FindKey(spec.TopKeys, name).Elem)}
	}
	return out
}

// bindNotices binds the entries of `notify`.
func (b *binder) bindNotices(entries []spec.Value) []Field {
	run := eval.Object(map[string]eval.Type{
		"id": eval.String(), "graph": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true),
		"status": eval.String(), "reason": eval.String(),
	}, false)
	scope := eval.NewScope(map[string]eval.Type{
		"run": run, "question": eval.Object(nil, true), "error": eval.FailureType(), "output": eval.Any(), "goal": eval.String(),
	}, eval.ScopeOptions{Refuse: b.scopes.scopeOptions().Refuse})
	out := make([]Field, len(entries))
	for i := range entries {
		out[i] = Field{"notice", b.bindKey(exprSite{fixed: scope}, &entries[i], spec.FindKey(spec.TopKeys, "notify").Elem)}
	}
	return out
}

// bindApprovals compiles the conditions under which tool calls need approval. It also reports errors in
// the retry conditions of tools, which package tool compiles again.
func (b *binder) bindApprovals(tools []spec.Field) []*eval.Program {
	var out []*eval.Program
	for i := range tools {
		approve, retry := tools[i].Value.Get("approve"), tools[i].Value.Get("retry")
		if approve != nil && approve.Kind == spec.String && approve.Text.Value != "always" {
			if program := b.compileExpr(exprSite{fixed: eval.ApprovalScope()}, approve.Text, eval.Condition); program != nil {
				out = append(out, program)
			}
		}
		for _, block := range retry.OneOrAll() {
			if when := block.Get("when"); when != nil && when.Kind == spec.String {
				b.compileExpr(exprSite{fixed: eval.RetryScope()}, when.Text, eval.Condition)
			}
		}
	}
	return out
}

// bindRetryWhen compiles the conditions of a node's retry blocks, or returns nil.
func (b *binder) bindRetryWhen(node *spec.Node) []*eval.Program {
	blocks := node.RetryBlocks(b.graph)
	var out []*eval.Program
	for i := range blocks {
		if blocks[i].When.IsSet() {
			if out == nil {
				out = make([]*eval.Program, len(blocks))
			}
			out[i] = b.compileExpr(exprSite{fixed: eval.RetryScope()}, blocks[i].When, eval.Condition)
		}
	}
	return out
}

// runScope returns the scope of expressions that a run evaluates once.
func (s *scopes) runScope() *eval.Scope {
	names := map[string]eval.Type{"secrets": s.secrets, "goal": s.common["goal"], "run": eval.Object(map[string]eval.Type{
		"id": eval.String(), "started_at": eval.String(), "input": eval.Object(nil, true), "dir": eval.String(),
	}, false)}
	refuse := map[string]string{}
	for name := range s.common {
		if _, known := names[name]; !known {
			refuse[name] = name + " changes during a run; tools and providers see goal, run and secrets, which don't"
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Refuse: refuse})
}

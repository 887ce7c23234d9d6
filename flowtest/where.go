// Expressions about the end of a run.

package flowtest

import (
	"maps"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// endScope returns the scope of the expressions of where.
func (f *File) endScope() *eval.Scope {
	g := f.Graph
	keys, counts, outputs, nodes := map[string]eval.Type{}, map[string]eval.Type{}, map[string]eval.Type{}, map[string]eval.Type{}
	for _, key := range g.State {
		keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	object := func(fields map[string]eval.Type) eval.Type { return eval.Object(fields, false) }
	failure := object(map[string]eval.Type{"kind": eval.String(), "message": eval.String(), "node": eval.String(), "attempt": eval.Int(), "details": eval.Any()})
	node := object(map[string]eval.Type{"output": eval.Any(), "visits": eval.Int(), "outcome": eval.String(), "error": failure})
	for _, n := range g.Nodes {
		id := n.ID.Value
		counts[id], outputs[id], nodes[id] = eval.Int(), eval.List(eval.Any()), node
	}
	names := map[string]eval.Type{
		"output": eval.Any(), "status": eval.String(), "quality": eval.String(), "reason": eval.String(),
		"path": eval.List(eval.String()), "steps": eval.Int(), "duration": eval.Float(), "error": failure,
		"visits": object(counts), "history": object(outputs), "nodes": object(nodes),
		"pending": eval.List(eval.Object(nil, true)), "state": eval.Object(keys, !g.StrictState),
	}
	for name, t := range keys {
		if _, taken := names[name]; !taken {
			names[name] = t
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Roots: []string{"state"}, Open: !g.StrictState})
}

// wheres compiles the expressions of where.
func (f *File) wheres(v *spec.Value) []where {
	if v == nil {
		return nil
	}
	scope := f.endScope()
	var out []where
	for _, text := range textsOf(v) {
		program, err := scope.Compile(text.Value, eval.Condition)
		if err != nil {
			f.report(text.At(err.From, err.To), err.Rule, "%s", err.Message)
			f.found[len(f.found)-1].Suggestion = err.Suggestion
			continue
		}
		out = append(out, where{text, program})
	}
	return out
}

// endOf returns the environment of the expressions of where.
func endOf(g *spec.Graph, r *runner.Result) map[string]any {
	visits, nodes, history := map[string]any{}, map[string]any{}, map[string]any{}
	counts := visitsOf(r)
	for _, n := range g.Nodes {
		id := n.ID.Value
		visits[id], history[id] = counts[id], []any{}
		nodes[id] = map[string]any{"output": nil, "visits": counts[id], "outcome": nil, "error": nil}
	}
	for i := range r.History {
		h := &r.History[i]
		node, ok := nodes[h.Node].(map[string]any)
		if !ok {
			continue
		}
		node["outcome"], node["output"], node["error"] = h.Outcome, h.Output, nil
		if h.Error != nil {
			node["error"] = failureData(h.Error)
		} else if list, ok := history[h.Node].([]any); ok {
			history[h.Node] = append(list, h.Output)
		}
	}
	path := collect(r.Path, func(name string) any { return name })
	env := map[string]any{}
	maps.Copy(env, r.State)
	maps.Copy(env, map[string]any{
		"output": r.Output, "status": string(r.Status), "quality": string(r.Quality), "reason": r.Reason,
		"path": path, "steps": r.Steps, "duration": time.Duration(r.Duration).Seconds(), "visits": visits,
		"history": history, "nodes": nodes, "pending": pendingData(r), "state": r.State, "error": nil,
	})
	if r.Error != nil {
		env["error"] = failureData(r.Error)
	}
	return env
}

func failureData(e *runner.Failure) map[string]any {
	return map[string]any{"kind": e.Kind, "message": e.Message, "node": e.Node, "attempt": e.Attempt, "details": any(e.Details)}
}

// where evaluates the expressions.
func (k *checker) where() {
	var vm eval.VM
	for _, w := range k.x.wheres {
		k.at = w.text.Span
		reason := vm.Explain(w.program, k.end, func(_ []any, v any) string { return short(shown(v)) })
		holds, err := vm.Test(w.program, k.end)
		switch {
		case err != nil:
			k.miss("where", w.text.Value, err.Error())
		case !holds:
			k.miss("where", w.text.Value, reason.String())
		}
	}
}

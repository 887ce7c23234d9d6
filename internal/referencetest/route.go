// What follows a step: edges, goto, branches that begin (§6, §7).

package referencetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// target is where a finished step leads.
type target struct {
	to    string
	value any
	edge  *spec.Edge // nil for a goto
}

// detour is a failure edge that a step took.
type detour struct{ step *step }

// finish ends a step: its writes stand, and its edges are resolved.
func (s *scope) finish(st *step) {
	st.done = true
	if st.failure != nil {
		st.output, st.writes = nil, nil
	}
	if st.isFinal {
		s.finishFinal(st)
		return
	}
	s.steps = append(s.steps, st)
	if st.failure == nil {
		s.watchAfter(st)
	}
	if s.frozen {
		return
	}
	s.route(st)
	if !s.frozen && !st.skipped && !st.refused {
		s.breakpoint("pause_after", st)
	}
}

// route resolves the edges of a step and moves its token on.
func (s *scope) route(st *step) {
	env := s.after(st)
	targets, fallback, err := s.targets(st, env)
	switch {
	case err != nil:
		s.endBy(st, "failed", err)
	case len(targets) > 0:
		s.drop(st.token)
		s.degraded = s.degraded || fallback
		if st.failure != nil {
			s.degraded = true
			s.bends = append(s.bends, &detour{st})
			s.settleConflicts(st)
		}
		s.advance(st, targets)
	case st.failure == nil:
		s.endBy(st, "stuck", &Error{Kind: "stuck", Node: st.node.ID.Value, Message: "no edge fires"})
	case st.failure.Kind == "expression":
		s.endBy(st, "failed", st.failure)
	default:
		s.propagate(st.token, st.failure, st)
	}
}

// drop takes a token away.
func (s *scope) drop(t *token) {
	s.live = slices.DeleteFunc(s.live, func(o *token) bool { return o == t })
}

// targets says where a step leads; none: no edge fires. fallback says that a decision
// failed and its fallback fired.
func (s *scope) targets(st *step, env map[string]any) (out []target, fallback bool, fail *Error) {
	if st.failure == nil && !st.skipped {
		list, dynamic, err := s.gotos(st, st.output)
		if err != nil {
			return nil, false, err
		}
		if dynamic {
			return list, false, nil
		}
	}
	var edges []*spec.Edge
	for _, e := range s.graph.Edges {
		if e.From.Value == st.node.ID.Value {
			edges = append(edges, e)
		}
	}
	var fired []*spec.Edge
	if st.failure != nil {
		fired, fail = s.afterFailure(st, edges, env)
	} else {
		fired, fallback, fail = s.afterSuccess(st, edges, env)
	}
	if fail != nil {
		return nil, false, fail
	}
	for _, e := range fired {
		value, err := s.handed(st, e, env)
		if err != nil {
			return nil, false, &Error{Kind: "expression", Node: st.node.ID.Value, Message: err.Error()}
		}
		s.run.countEdge(s, e)
		out = append(out, target{e.To.Value, value, e})
	}
	return out, fallback, nil
}

func (r *Run) countEdge(s *scope, e *spec.Edge) {
	if s == r.root {
		r.fired[e.Index]++
	}
}

// afterSuccess is §6 "Edge resolution at node N, after success".
func (s *scope) afterSuccess(st *step, edges []*spec.Edge, env map[string]any) ([]*spec.Edge, bool, *Error) {
	if !st.skipped {
		fired, err := s.matching(st, edges, "conditional", env)
		if err != nil || len(fired) > 0 {
			return fired, false, err
		}
		if asked := where(edges, func(e *spec.Edge) bool { return e.Condition == "llm_decide" }); len(asked) > 0 {
			fired, fallback := s.decided(st, edges, asked)
			return fired, fallback, nil
		}
	}
	return where(edges, func(e *spec.Edge) bool { return e.Condition == "on_success" || e.Condition == "always" }), false, nil
}

// decided is the one of the llm_decide edges that the world chooses; where it fails, the
// edge with `fallback: true` (§9 llm_decide).
func (s *scope) decided(st *step, edges, asked []*spec.Edge) (fired []*spec.Edge, fallback bool) {
	if len(asked) == 1 {
		return asked, false
	}
	var names []string
	for _, e := range asked {
		names = append(names, e.To.Value)
	}
	to, ok := s.run.world.Choose(st.id(nil), names)
	if i := slices.Index(names, to); ok && i >= 0 {
		return asked[i : i+1], false
	}
	fired = where(edges, func(e *spec.Edge) bool { return e.Fallback })
	return fired, len(fired) > 0
}

// afterFailure is §6 "After failure".
func (s *scope) afterFailure(st *step, edges []*spec.Edge, env map[string]any) ([]*spec.Edge, *Error) {
	fired, err := s.matching(st, edges, "on_failure", env)
	if err != nil || len(fired) > 0 {
		return fired, err
	}
	if plain := where(edges, func(e *spec.Edge) bool { return e.Condition == "on_failure" && !e.When.IsSet() }); len(plain) > 0 {
		return plain, nil
	}
	return where(edges, func(e *spec.Edge) bool { return e.Condition == "always" }), nil
}

func where(edges []*spec.Edge, is func(*spec.Edge) bool) []*spec.Edge {
	var out []*spec.Edge
	for _, e := range edges {
		if is(e) {
			out = append(out, e)
		}
	}
	return out
}

// matching lists the edges of a condition whose `when` is true: the first by priority,
// then order, with the others of its declaration; with routing: all every one.
func (s *scope) matching(st *step, edges []*spec.Edge, condition string, env map[string]any) ([]*spec.Edge, *Error) {
	guarded := where(edges, func(e *spec.Edge) bool { return e.Condition == condition && e.When.IsSet() })
	if st.node.Routing != "all" {
		slices.SortStableFunc(guarded, func(a, b *spec.Edge) int { return b.Priority - a.Priority })
	}
	var out []*spec.Edge
	for _, e := range guarded {
		if len(out) > 0 && st.node.Routing != "all" {
			break
		}
		var vm eval.VM
		holds, err := vm.Test(s.bound.Edges[e.Index].When, env)
		switch {
		case err != nil:
			return nil, &Error{Kind: "expression", Node: st.node.ID.Value, Message: fmt.Sprintf("edge to %s: %v", e.To.Value, err)}
		case holds && st.node.Routing == "all":
			out = append(out, e)
		case holds:
			out = where(guarded, func(o *spec.Edge) bool { return o == e || o.Decl == e.Decl && e.Decl >= 0 })
		}
	}
	slices.SortFunc(out, func(a, b *spec.Edge) int { return a.Index - b.Index })
	return out, nil
}

// handed is the input that an edge gives to its target: its transform, else the source's
// output, or its error behind a failure.
func (s *scope) handed(st *step, e *spec.Edge, env map[string]any) (any, error) {
	if v := s.bound.Edges[e.Index].Transform; v != nil {
		var vm eval.VM
		return v.Eval(&vm, env)
	}
	if st.failure != nil {
		return st.failure.data(), nil
	}
	return st.output, nil
}

// gotos reads dynamic routing (§6): `goto` in the output, or the node's expression.
func (s *scope) gotos(st *step, output any) (out []target, dynamic bool, fail *Error) {
	var v any
	object, isObject := output.(map[string]any)
	if own, held := object["goto"]; isObject && held && st.node.HasEnds {
		v = own
	} else if p := s.bound.Nodes[st.node.Index].Goto; p != nil {
		env := maps.Clone(st.view.Env)
		state := maps.Clone(st.view.State)
		for _, w := range s.tentative(st) {
			mustReduce(s, state, w)
		}
		maps.Copy(env, state)
		env["state"], env["output"], env["outcome"] = state, output, "success"
		value, err := s.eval(p, env)
		if err != nil {
			return nil, false, st.fail("expression", err.Error())
		}
		v = value
	} else {
		return nil, false, nil
	}
	for _, item := range asElements(v) {
		label, value := item, output
		if o, ok := item.(map[string]any); ok {
			label = o["to"]
			if given, ok := o["input"]; ok {
				value = given
			}
		}
		i := slices.IndexFunc(st.node.Ends, func(e spec.End) bool { return e.Label.Value == label })
		if i < 0 {
			return nil, false, st.fail("invalid_output", fmt.Sprintf("unknown label %v", label))
		}
		out = append(out, target{to: st.node.Ends[i].Target.Value, value: value})
	}
	if len(out) == 0 {
		return nil, false, st.fail("invalid_output", "an empty goto")
	}
	return out, true, nil
}

// tentative are the writes of a step whose output is being checked.
func (s *scope) tentative(st *step) []write {
	if st.done || len(st.units) != 1 || st.isEach {
		return st.writes
	}
	return st.units[0].writes
}

// advance moves on: one target continues the branch, several begin branches (§7).
func (s *scope) advance(st *step, targets []target) {
	next := st.thread
	next.past = union(st.past, past{st: true})
	next.rank = st.rank + 1
	if len(targets) == 1 {
		s.arrive(s.tokenTo(st, next, targets[0]))
		return
	}
	f := &fan{source: st, before: next.past, place: st.place}
	var names []string
	for _, t := range targets {
		f.lanes = append(f.lanes, &lane{first: t.to})
		names = append(names, t.to)
	}
	f.implicit = implicitJoin(s.graph, st.node.ID.Value, names)
	s.fans = append(s.fans, f)
	var tokens []*token
	for l, t := range targets {
		one := next
		one.order = append(slices.Clone(next.order), l)
		one.place = append(slices.Clone(next.place), frame{f, l})
		one.lanes = maps.Clone(next.lanes)
		one.lanes[f] = map[int]bool{l: true}
		one.branch = t.to
		tokens = append(tokens, s.tokenTo(st, one, t))
	}
	for l, t := range tokens {
		s.arrive(t)
		s.limitBranch(f, l)
	}
}

func (s *scope) tokenTo(st *step, t thread, to target) *token {
	return &token{thread: t, scope: s, node: to.to, from: st, value: to.value, cause: st.failure}
}

// limitBranch begins parallel.branch_timeout of a branch (§2). A branch that has ended,
// or only waits at joins, has no limit any more.
func (s *scope) limitBranch(f *fan, l int) {
	limit := s.graph.Parallel.BranchTimeout
	if p := f.source.node.Parallel; p != nil && p.BranchTimeout > 0 {
		limit = p.BranchTimeout
	}
	if limit == 0 {
		return
	}
	working := func() *token {
		for _, t := range s.live {
			if t.step != nil && t.on(f, l) {
				return t
			}
		}
		return nil
	}
	alive := func() bool { return !s.closed && !s.frozen && slices.Contains(s.run.scopes, s) && working() != nil }
	s.run.after(limit, false, alive, func() {
		t := working()
		s.run.timed = true
		s.propagateFrom(t, f, &Error{Kind: "timeout", Node: t.node, Message: "branch_timeout"}, t.step)
	})
}

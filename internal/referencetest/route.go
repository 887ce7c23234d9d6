// Routing: edges, goto, and the branches that begin (§6, §7).

package referencetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// target is a node that a finished step leads to, with its input.
type target struct {
	to    string
	value any
	edge  *spec.Edge // nil for a goto
}

// detour is a failure edge that a step took.
type detour struct{ step *step }

// finishStep ends a step, records it, and follows its edges.
func (s *scope) finishStep(st *step) {
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
	s.routeStep(st)
	if !s.frozen && !st.skipped && !st.refused {
		s.pauseAtBreakpoint("pause_after", st)
	}
}

// routeStep resolves the edges of a step and moves its token to the targets.
func (s *scope) routeStep(st *step) {
	env := s.routingEnv(st)
	targets, fallback, err := s.resolveTargets(st, env)
	switch {
	case err != nil:
		s.endBy(st, "failed", err)
	case len(targets) > 0:
		s.dropToken(st.token)
		s.degraded = s.degraded || fallback
		if st.failure != nil {
			s.degraded = true
			s.detours = append(s.detours, &detour{st})
			s.resetConflicts(st)
		}
		s.followTargets(st, targets)
	case st.failure == nil:
		s.endBy(st, "stuck", &Error{Kind: "stuck", Node: st.node.ID.Value, Message: "no edge fires"})
	case st.failure.Kind == "expression":
		s.endBy(st, "failed", st.failure)
	default:
		s.propagateFailure(st.token, st.failure, st)
	}
}

// dropToken removes a token from the live ones.
func (s *scope) dropToken(t *token) {
	s.live = slices.DeleteFunc(s.live, func(o *token) bool { return o == t })
}

// resolveTargets returns the targets of a finished step, or none if no edge fires. fallback reports that a
// decision failed and its fallback edge fired.
func (s *scope) resolveTargets(st *step, env map[string]any) (out []target, fallback bool, fail *Error) {
	if st.failure == nil && !st.skipped {
		list, dynamic, err := s.evalGoto(st, st.output)
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
		fired, fail = s.edgesAfterFailure(st, edges, env)
	} else {
		fired, fallback, fail = s.edgesAfterSuccess(st, edges, env)
	}
	if fail != nil {
		return nil, false, fail
	}
	for _, e := range fired {
		value, err := s.edgeInput(st, e, env)
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

// edgesAfterSuccess implements §6 "Edge resolution at node N, after success".
func (s *scope) edgesAfterSuccess(st *step, edges []*spec.Edge, env map[string]any) ([]*spec.Edge, bool, *Error) {
	if !st.skipped {
		fired, err := s.findMatchingEdges(st, edges, "conditional", env)
		if err != nil || len(fired) > 0 {
			return fired, false, err
		}
		if asked := filterEdges(edges, func(e *spec.Edge) bool { return e.Condition == "llm_decide" }); len(asked) > 0 {
			fired, fallback := s.chooseEdge(st, edges, asked)
			return fired, fallback, nil
		}
	}
	return filterEdges(edges, func(e *spec.Edge) bool { return e.Condition == "on_success" || e.Condition == "always" }), false, nil
}

// chooseEdge returns the llm_decide edge that the world chooses. If the choice fails, it returns the
// edge with `fallback: true` (§9 llm_decide).
func (s *scope) chooseEdge(st *step, edges, asked []*spec.Edge) (fired []*spec.Edge, fallback bool) {
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
	fired = filterEdges(edges, func(e *spec.Edge) bool { return e.Fallback })
	return fired, len(fired) > 0
}

// edgesAfterFailure implements §6 "After failure".
func (s *scope) edgesAfterFailure(st *step, edges []*spec.Edge, env map[string]any) ([]*spec.Edge, *Error) {
	fired, err := s.findMatchingEdges(st, edges, "on_failure", env)
	if err != nil || len(fired) > 0 {
		return fired, err
	}
	if plain := filterEdges(edges, func(e *spec.Edge) bool { return e.Condition == "on_failure" && !e.When.IsSet() }); len(plain) > 0 {
		return plain, nil
	}
	return filterEdges(edges, func(e *spec.Edge) bool { return e.Condition == "always" }), nil
}

func filterEdges(edges []*spec.Edge, is func(*spec.Edge) bool) []*spec.Edge {
	var out []*spec.Edge
	for _, e := range edges {
		if is(e) {
			out = append(out, e)
		}
	}
	return out
}

// findMatchingEdges lists the edges of a condition whose `when` is true. It takes the first one by priority
// and order, with the others of its declaration; with `routing: all` it takes every one.
func (s *scope) findMatchingEdges(st *step, edges []*spec.Edge, condition string, env map[string]any) ([]*spec.Edge, *Error) {
	guarded := filterEdges(edges, func(e *spec.Edge) bool { return e.Condition == condition && e.When.IsSet() })
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
			out = filterEdges(guarded, func(o *spec.Edge) bool { return o == e || o.Decl == e.Decl && e.Decl >= 0 })
		}
	}
	slices.SortFunc(out, func(a, b *spec.Edge) int { return a.Index - b.Index })
	return out, nil
}

// edgeInput returns the input that an edge gives to its target: the result of its transform, else the
// source's output, or after a failure the source's error.
func (s *scope) edgeInput(st *step, e *spec.Edge, env map[string]any) (any, error) {
	if v := s.bound.Edges[e.Index].Transform; v != nil {
		var vm eval.VM
		return v.Eval(&vm, env)
	}
	if st.failure != nil {
		return st.failure.toData(), nil
	}
	return st.output, nil
}

// evalGoto returns the targets of dynamic routing (§6): from `goto` in the output, or from the node's
// expression.
func (s *scope) evalGoto(st *step, output any) (out []target, dynamic bool, fail *Error) {
	var v any
	object, isObject := output.(map[string]any)
	if own, held := object["goto"]; isObject && held && st.node.HasEnds {
		v = own
	} else if p := s.bound.Nodes[st.node.Index].Goto; p != nil {
		env := maps.Clone(st.view.Env)
		state := maps.Clone(st.view.State)
		for _, w := range s.pendingWrites(st) {
			applyWrite(s, state, w)
		}
		maps.Copy(env, state)
		env["state"], env["output"], env["outcome"] = state, output, "success"
		value, err := s.eval(p, env)
		if err != nil {
			return nil, false, st.newError("expression", err.Error())
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
			return nil, false, st.newError("invalid_output", fmt.Sprintf("unknown label %v", label))
		}
		out = append(out, target{to: st.node.Ends[i].Target.Value, value: value})
	}
	if len(out) == 0 {
		return nil, false, st.newError("invalid_output", "an empty goto")
	}
	return out, true, nil
}

// pendingWrites returns the writes of a step whose output is being checked.
func (s *scope) pendingWrites(st *step) []write {
	if st.done || len(st.units) != 1 || st.isEach {
		return st.writes
	}
	return st.units[0].writes
}

// followTargets moves a token to its targets. One target continues the branch, several start new
// branches (§7).
func (s *scope) followTargets(st *step, targets []target) {
	next := st.thread
	next.past = unionPasts(st.past, past{st: true})
	next.rank = st.rank + 1
	if len(targets) == 1 {
		s.placeToken(s.tokenTo(st, next, targets[0]))
		return
	}
	f := &fan{source: st, before: next.past, place: st.place}
	var names []string
	for _, t := range targets {
		f.lanes = append(f.lanes, &lane{first: t.to})
		names = append(names, t.to)
	}
	f.implicit = findImplicitJoin(s.graph, st.node.ID.Value, names)
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
		s.placeToken(t)
		s.limitBranch(f, l)
	}
}

func (s *scope) tokenTo(st *step, t thread, to target) *token {
	return &token{thread: t, scope: s, node: to.to, from: st, value: to.value, cause: st.failure}
}

// limitBranch starts parallel.branch_timeout of a branch (§2). The timeout does not apply to a branch
// that has ended or only waits at joins.
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
			if t.step != nil && t.isOnBranch(f, l) {
				return t
			}
		}
		return nil
	}
	alive := func() bool { return !s.closed && !s.frozen && slices.Contains(s.run.scopes, s) && working() != nil }
	s.run.schedule(limit, false, alive, func() {
		t := working()
		s.run.timed = true
		s.propagateFailureFrom(t, f, &Error{Kind: "timeout", Node: t.node, Message: "branch_timeout"}, t.step)
	})
}

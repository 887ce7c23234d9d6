// The names that expressions see (GraphSpec §8), built only as far as one reads them.

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
)

// begin sets up the first view of a scope from its input.
func (sc *Scope) begin(input, session, edit map[string]any) {
	s, p := sc.state, sc.plan
	v := sc.newView(nil)
	v.Vals = slices.Clone(p.initial)
	for i := range v.Vals {
		if v.Vals[i] != absent {
			v.Size += sizeOf(v.Vals[i])
		}
	}
	given := map[string]any{}
	for _, values := range []map[string]any{session, input, edit} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := sc.load(v, name, values[name])
			if _, own := input[name]; own {
				given[name] = value
			}
		}
	}
	sc.Input = given
	v.Thread = p.firstThread(s, sc)
	v.refs++ // the scope's own
}

// load sets a key to a value from outside: an input, or an edit.
func (sc *Scope) load(v *View, name string, value any) any {
	i, ok := sc.plan.keyOf[name]
	if !ok {
		if sc.Extra == nil {
			sc.Extra = map[string]any{}
		}
		sc.Extra[name] = value
		v.env = nil
		return value
	}
	value = sc.plan.keys[i].schema.Normalise(value)
	v.resize(v.Vals[i], value)
	v.set(i, value)
	return value
}

// values returns the state as a new map of all keys that have a value.
func (v *View) values() map[string]any {
	out := make(map[string]any, len(v.Vals)+len(v.scope.Extra))
	maps.Copy(out, v.scope.Extra)
	for i, value := range v.Vals {
		if value != absent {
			out[v.scope.plan.keys[i].name] = value
		}
	}
	return out
}

// context returns what expressions see on a view, limited to the names in mask.
func (v *View) context(t *Task, mask uses) map[string]any {
	sc := v.scope
	if v.env == nil {
		v.env = v.values()
		sc.fixed(v.env)
	}
	if mask == 0 { // mostly it reads state keys alone
		return v.env
	}
	for i := range contextNames {
		if mask&contextNames[i].bit == 0 {
			continue
		}
		var value any
		switch contextNames[i].bit {
		case useOutput:
			value = t.Output
		case useInput:
			value = t.input()
		case useInputs:
			value = t.inputs()
		case useOutcome:
			value = t.outcome()
		case useError:
			value = failureData(t.cause())
		case useNode:
			value = sc.plan.nodes[t.Node].id
		case useVisit:
			value = t.Visit
		case useStep:
			value = t.Step
		case useLast:
			value = t.lastSaid(v)
		case useState:
			value = v.values()
		case useBranches:
			value = orEmpty(t.Branches)
		case useVisits:
			value = v.visits(t)
		case useHistory:
			value = v.history()
		case useNodes:
			value = v.nodes(t)
		case useNow:
			run := maps.Clone(sc.run)
			run["now"] = timeText(sc.state.Now)
			v.env["run"] = run
			continue
		default:
			continue
		}
		v.env[contextNames[i].name] = value
	}
	return v.env
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// fixed adds the names that are constant in the scope.
func (sc *Scope) fixed(env map[string]any) {
	s, p := sc.state, sc.plan
	if secrets := s.secrets[p]; len(secrets) > 0 {
		env["secrets"] = secrets
	}
	if p.wanted&useGoal != 0 {
		env["goal"] = sc.Goal()
	}
	if p.wanted&useRun != 0 {
		if sc.run == nil {
			sc.run = map[string]any{
				"id": s.Run.ID, "input": sc.Input, "status": string(Running), "reason": "",
				"started_at": timeText(s.Began), "dir": s.Run.Dir,
			}
			if sc.End != nil {
				sc.run["status"], sc.run["reason"] = string(sc.End.Status), sc.End.Reason
			}
		}
		env["run"] = sc.run
	}
}

// Goal returns the goal of the scope in words.
func (sc *Scope) Goal() string {
	if sc.Outer == 0 && sc.state.Goal != "" {
		return sc.state.Goal
	}
	return sc.plan.goal
}

// clearFixed drops the cached constant names of the scope.
func (sc *Scope) clearFixed() {
	sc.run = nil
	for _, v := range sc.Views {
		v.env = nil
	}
}

// isRunning reports whether the step has begun and not ended: its view does not have its
// visit yet.
func (t *Task) isRunning() bool { return t.Begun && !t.Done && !t.Skipped && !t.Refused }

func (v *View) visits(t *Task) map[string]any {
	p := v.scope.plan
	out := map[string]any{}
	for i := range p.nodes {
		if p.watched[i] {
			out[p.nodes[i].id] = v.visitsOf(i)
		}
	}
	if t.isRunning() && p.watched[t.Node] {
		out[p.nodes[t.Node].id] = v.visitsOf(t.Node) + 1
	}
	return out
}

func (v *View) history() map[string]any {
	p := v.scope.plan
	out := map[string]any{}
	for i := range p.nodes {
		if p.watched[i] {
			list := []any{}
			if m := v.memory(i); m != nil && m.History != nil {
				list = m.History
			}
			out[p.nodes[i].id] = list
		}
	}
	return out
}

func (v *View) nodes(t *Task) map[string]any {
	p := v.scope.plan
	out := map[string]any{}
	for i := range p.nodes {
		if !p.watched[i] {
			continue
		}
		known := map[string]any{
			"output": nil, "visits": v.visitsOf(i), "outcome": nil, "error": nil,
			"partial": v.scope.Partial[i], "reason": v.scope.reason(i),
		}
		if m := v.memory(i); m != nil {
			known["output"], known["outcome"], known["error"] = m.Output, m.Outcome, failureData(m.Failure)
		}
		if t.Node == i && t.isRunning() {
			known["visits"], known["output"] = v.visitsOf(i)+1, nil
		}
		out[p.nodes[i].id] = known
	}
	return out
}

func (sc *Scope) reason(node int) any {
	if reason, ok := sc.Reasons[node]; ok {
		return reason
	}
	return nil
}

// nodeContext returns the context of the node's own expressions. Of the state it holds
// only what the node reads.
func (t *Task) nodeContext(n *node) map[string]any {
	v := t.view()
	env := v.context(t, n.uses)
	if n.uses&useState != 0 && !n.readAll {
		env["state"] = v.readable(n)
	}
	return env
}

// view returns the view that the task sees.
func (t *Task) view() *View {
	if t.seen == nil || t.seen.ID != t.View {
		t.seen = t.scope.view(t.View)
	}
	return t.seen
}

// input returns the task's input: that of its source merged with `before`, or an object
// by source for a join.
func (t *Task) input() any {
	switch {
	case t.Before != nil:
		return t.Before
	case t.Met:
		return t.inputs()
	}
	return t.Input
}

// inputs returns what came along each edge, by source node.
func (t *Task) inputs() map[string]any {
	if t.Inputs == nil && t.From.Task != 0 {
		return map[string]any{t.scope.plan.nodes[t.From.Node].id: t.Input}
	}
	return orEmpty(t.Inputs)
}

// readable returns the part of the state that a node may read.
func (v *View) readable(n *node) map[string]any {
	if n.readAll {
		return v.values()
	}
	out := make(map[string]any, len(n.reads))
	for _, i := range n.reads {
		if value := v.Vals[i]; value != absent {
			out[v.scope.plan.keys[i].name] = value
		}
	}
	return out
}

func (t *Task) outcome() any {
	if t.Failure != nil {
		return "failure"
	}
	return "success"
}

// cause returns the failure of the task. Until it has ended, it is the failure whose edge
// led here.
func (t *Task) cause() *Failure {
	if t.Failure == nil && !t.Done {
		return t.Cause
	}
	return t.Failure
}

// failureData returns a failure as expressions see it.
func failureData(f *Failure) any {
	if f == nil {
		return nil
	}
	details := f.Details
	if details == nil {
		details = map[string]any{}
	}
	out := map[string]any{
		"kind": f.Kind, "message": f.Message, "node": f.Node, "attempt": f.Attempt, "details": details,
	}
	if f.Candidates != nil { // of a graph that is stuck
		var list []any
		for _, c := range f.Candidates {
			list = append(list, map[string]any{"to": c.To, "condition": c.Condition, "when": c.When, "why": c.Why})
		}
		out["candidates"], out["output_preview"] = list, f.OutputPreview
	}
	return out
}

// addBefore adds the values of `before` to the task's input.
func (t *Task) addBefore(n *node) *Failure {
	values, err := bind.EvalFields(n.before, &t.scope.state.vm, t.nodeContext(n))
	if err != nil {
		return &Failure{Kind: "expression", Message: "before: " + err.Error()}
	}
	switch input := t.input().(type) {
	case nil:
	case map[string]any:
		for name, value := range input { //lint:ignore mapiter the result is a map
			if _, taken := values[name]; !taken {
				values[name] = value
			}
		}
	default:
		if _, taken := values["value"]; !taken {
			values["value"] = input
		}
	}
	t.Before = values
	return nil
}

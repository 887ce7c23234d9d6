// The context: the names that expressions read (GraphSpec §8).

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
)

// initState sets up the first view of a scope from its input.
func (sc *Scope) initState(input, session, edit map[string]any) {
	s, p := sc.state, sc.plan
	v := sc.newView(nil)
	v.Vals = slices.Clone(p.initial)
	for i := range v.Vals {
		v.Size += measureValue(v.Vals[i])
	}
	given := map[string]any{}
	for _, values := range []map[string]any{session, input, edit} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := sc.loadValue(v, name, values[name])
			if _, own := input[name]; own {
				given[name] = value
			}
		}
	}
	sc.Input = given
	v.Thread = p.newThread(s, sc)
}

// loadValue sets a key to an external value: an input or an edit.
func (sc *Scope) loadValue(v *View, name string, value any) any {
	i, ok := sc.plan.keyOf[name]
	if !ok {
		sc.Extra = setEntry(sc.Extra, name, value)
		v.env = nil
		return value
	}
	value = sc.plan.keys[i].schema.Normalise(value)
	v.applyWrite(&Write{Key: i, Update: value, Reset: true})
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

// contextNames are the names in expressions other than state keys, secrets, item and index.
var contextNames = []string{
	"branches", "error", "goal", "history", "input", "inputs", "last", "node", "nodes", "outcome", "output", "run", "state", "step", "visit", "visits",
}

// contextValue returns the value of one of contextNames.
func (v *View) contextValue(name string, t *Task) any {
	switch name {
	case "output":
		return t.output()
	case "input":
		return t.input()
	case "inputs":
		return t.inputs()
	case "outcome":
		return formatOutcome(t.Failure)
	case "error":
		return failureData(t.cause())
	case "nodes":
		return v.nodesData(t)
	case "history":
		return v.history()
	case "visits":
		return v.valuesByNode(func(node int) any { return v.countVisits(t, node) })
	case "node":
		return v.scope.plan.nodes[t.Node].id
	case "visit":
		return t.Visit
	case "step":
		return t.Step
	case "state":
		return v.values()
	case "goal":
		return v.scope.Goal()
	case "run":
		return v.scope.runData()
	case "last":
		return t.lastMessages(v)
	default: // branches
		return emptyIfNil(t.Branches)
	}
}

// buildContext returns the values for expressions on a view. All calls for a view share one map, in
// which it updates the given names.
func (v *View) buildContext(t *Task, names uses) map[string]any {
	if v.env == nil {
		v.env = v.values()
		v.scope.addSecrets(v.env)
	}
	for _, name := range names {
		v.env[name] = v.contextValue(name, t)
	}
	return v.env
}

func emptyIfNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func (sc *Scope) addSecrets(env map[string]any) {
	if secrets := sc.state.secrets[sc.plan]; len(secrets) > 0 {
		env["secrets"] = secrets
	}
}

func (sc *Scope) runData() map[string]any {
	s, end := sc.state, End{Status: Running}
	if sc.End != nil {
		end = *sc.End
	}
	return map[string]any{
		"id": s.Run.ID, "input": sc.Input, "status": string(end.Status), "reason": end.Reason,
		"started_at": formatTime(s.Began), "now": formatTime(s.Now), "dir": s.Run.Dir,
	}
}

// Goal returns the goal of the scope.
func (sc *Scope) Goal() string {
	if sc.Outer == 0 && sc.state.Goal != "" {
		return sc.state.Goal
	}
	return sc.plan.Graph.Goal.Description.Value
}

// isRunning reports whether the step has begun and not ended. Then its view does not count its visit.
func (t *Task) isRunning() bool { return t.Begun && !t.Done && !t.Skipped && !t.Refused }

func (v *View) valuesByNode(of func(node int) any) map[string]any {
	p, out := v.scope.plan, map[string]any{}
	for i := range p.nodes {
		if p.watched[i] {
			out[p.nodes[i].id] = of(i)
		}
	}
	return out
}

// countVisits returns how often a node was visited, including the visit of a running task.
func (v *View) countVisits(t *Task, node int) int {
	if t.Node == node && t.isRunning() {
		return v.visitCount(node) + 1
	}
	return v.visitCount(node)
}

func (v *View) history() any {
	return v.valuesByNode(func(node int) any {
		if m := v.lastMemory(node); m != nil && m.History != nil {
			return m.History
		}
		return []any{}
	})
}

func (v *View) nodesData(t *Task) any {
	return v.valuesByNode(func(node int) any {
		known := map[string]any{
			"output": nil, "visits": v.countVisits(t, node), "outcome": nil, "error": nil,
			"partial": v.scope.Partial[node], "reason": nil,
		}
		if reason, ok := v.scope.Reasons[node]; ok {
			known["reason"] = reason
		}
		if m := v.lastMemory(node); m != nil {
			known["outcome"], known["error"] = m.Outcome, failureData(m.Failure)
			if !m.Stale && (t.Node != node || !t.isRunning()) {
				known["output"] = m.Output
			}
		}
		return known
	})
}

// nodeContext returns the context of the node's own expressions.
func (t *Task) nodeContext(n *node) map[string]any {
	v := t.view()
	env := v.buildContext(t, n.uses)
	if n.decl.HasReads && slices.Contains(n.uses, "state") {
		env["state"] = v.readableState(n)
	}
	return env
}

func (t *Task) view() *View {
	if t.cachedView == nil || t.cachedView.ID != t.View {
		t.cachedView = t.scope.findView(t.View)
	}
	return t.cachedView
}

// input returns the task's input with `before` added. After a join it is an object by source.
func (t *Task) input() any {
	if t.Before != nil {
		return t.Before
	}
	return t.Input
}

// inputs returns the inputs along each edge, by source node.
func (t *Task) inputs() map[string]any {
	if t.Inputs == nil && t.From.Task != 0 {
		return map[string]any{t.scope.plan.nodes[t.From.Node].id: t.Input}
	}
	return emptyIfNil(t.Inputs)
}

// readableState returns the part of the state that a node may read.
func (v *View) readableState(n *node) map[string]any {
	if !n.decl.HasReads {
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

// output returns the output of a task. It builds a lazy node's output when that is first read.
func (t *Task) output() any {
	if p := t.scope.plan; t.Output == nil && t.Node >= 0 && p.nodes[t.Node].lazy && len(t.Writes) > 0 {
		output := make(map[string]any, len(t.Writes))
		for _, w := range t.Writes {
			if !w.Reset { // an edit of a fork is not output
				output[p.keys[w.Key].name] = w.Update
			}
		}
		t.Output = output
	}
	return t.Output
}

func formatOutcome(f *Failure) string {
	if f != nil {
		return "failure"
	}
	return "success"
}

// cause returns the failure of the task or, until the task has ended, the failure that led to it.
func (t *Task) cause() *Failure {
	if t.Failure == nil && !t.Done {
		return t.Cause
	}
	return t.Failure
}

func failureData(f *Failure) any {
	if f == nil {
		return nil
	}
	out := map[string]any{
		"kind": f.Kind, "message": f.Message, "node": f.Node, "attempt": f.Attempt, "details": emptyIfNil(f.Details),
	}
	if f.Candidates != nil { // a stuck graph
		var list []any
		for _, c := range f.Candidates {
			list = append(list, map[string]any{"to": c.To, "condition": c.Condition, "when": c.When, "why": c.Why})
		}
		out["candidates"], out["output_preview"] = list, f.OutputPreview
	}
	return out
}

func (t *Task) evalBefore(n *node) *Failure {
	values, err := bind.EvalFields(n.bound.Before, &t.scope.state.vm, t.nodeContext(n))
	if err != nil {
		return expressionFailure("before: ", err)
	}
	merged := map[string]any{}
	switch input := t.input().(type) {
	case nil:
	case map[string]any:
		maps.Copy(merged, input)
	default:
		merged["value"] = input
	}
	maps.Copy(merged, values)
	t.Before = merged
	return nil
}

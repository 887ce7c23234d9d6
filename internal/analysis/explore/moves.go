// The events that can happen next in a run.

package explore

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// listMoves lists the events that can happen next. They lack the time and outputs.
func (r *Run) listMoves() []machine.Event {
	var out []machine.Event
	switch {
	case len(r.tasks) > 0:
		for _, id := range r.endingTasks() {
			out = append(out, r.listEndings(id)...)
		}
		return out
	case len(r.decides) > 0:
		c := &r.decides[0] // the other decisions do not depend on it
		for _, option := range c.Choice.Candidates {
			out = append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Target: option.Target})
		}
		return append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Failure: &machine.Failure{Kind: "llm", Message: "no decision"}})
	}
	for _, q := range r.State.Questions() {
		out = append(out, machine.Event{Kind: machine.Answered, Task: q.Task, Question: q.ID})
	}
	for _, t := range r.dueTimers() {
		out = append(out, machine.Event{Kind: machine.TimerFired, Task: t.Task, Timer: t.Timer, Fan: t.Fan, Lane: t.Lane})
	}
	return out
}

// endingTasks returns the tasks that can be the next to end. One is enough where no order
// matters.
func (r *Run) endingTasks() []machine.TaskID {
	room := r.s.Model.graph.Limits.MaxConcurrency
	if room <= 0 || room > len(r.tasks) {
		room = len(r.tasks)
	}
	if !r.s.Model.ranks {
		room = 1
	}
	return r.tasks[:room]
}

// listEndings lists how a task can end.
func (r *Run) listEndings(id machine.TaskID) []machine.Event {
	m := r.s.Model
	v := r.node(id)
	out := []machine.Event{{Kind: machine.TaskEnded, Task: id}}
	if m.mayFail[v] || v == r.s.Watch {
		for _, failure := range m.failures[v] {
			out = append(out, machine.Event{Kind: machine.TaskEnded, Task: id, Failure: failure})
		}
	}
	if r.s.Late && len(r.State.Current()) > 1 && !r.asked[id] && id.Element == 0 {
		out = append(out, machine.Event{Kind: machine.TaskEnded, Task: id, Asks: []machine.Ask{{ID: "1", Key: "1", Prompt: "?"}}})
	}
	return out
}

// dueTimers returns the timers that can be the next to fire. Unless the search is Late, that is
// the first one, and none if only limits of time are left.
func (r *Run) dueTimers() []machine.Command {
	isLimit := func(t machine.Command) bool {
		return !slices.Contains([]machine.TimerKind{machine.WaitTimer, machine.RetryTimer, machine.AnswerTimer, machine.BranchTimer}, t.Timer)
	}
	waiting := slices.DeleteFunc(slices.Clone(r.timers), isLimit)
	if r.s.Late || len(waiting) == 0 {
		return waiting
	}
	return []machine.Command{slices.MinFunc(r.timers, func(a, b machine.Command) int { return int(min(max(a.For-b.For, -1), 1)) })}
}

// take applies an event with its outputs. It returns false if the event can't happen.
func (r *Run) take(e machine.Event) bool {
	switch e.Kind {
	case machine.TaskEnded:
		if !slices.Contains(r.tasks, e.Task) {
			return false
		}
		if len(e.Asks) > 0 {
			r.asked[e.Task] = true
			r.remove(e.Task)
			break
		}
		end := &result{failure: e.Failure}
		if e.Failure == nil {
			end.output = r.output(r.node(e.Task))
		}
		r.results[r.execution(e.Task)] = end
		r.finish(e.Task)
		return true
	case machine.Answered:
		if !slices.ContainsFunc(r.State.Questions(), func(q machine.Question) bool { return q.Task == e.Task && q.ID == e.Question }) {
			return false
		}
		e.Output = "yes"
		if v := r.node(e.Task); r.s.Model.graph.Nodes[v].Kind.Value == "human" {
			e.Output = r.output(v)
			r.results[r.execution(e.Task)] = &result{output: e.Output}
		}
		r.note(e.Task, Chosen{Output: e.Output})
		r.asking--
	case machine.TimerFired:
		i := slices.IndexFunc(r.timers, func(t machine.Command) bool { return isTimer(&t, e.Timer, e.Task, e.Fan, e.Lane) })
		if i < 0 {
			return false
		}
		if e.Timer == machine.AnswerTimer {
			r.note(e.Task, Chosen{Absent: true})
			r.asking--
		}
		if !r.s.Late {
			r.now = max(r.now, int64(r.timers[i].For))
		}
		r.timers = slices.Delete(slices.Clone(r.timers), i, i+1)
	case machine.Decided:
		i := slices.IndexFunc(r.decides, func(d machine.Command) bool { return d.Task == e.Task })
		if i < 0 {
			return false
		}
		r.decides = slices.Delete(slices.Clone(r.decides), i, i+1)
		r.note(e.Task, Chosen{Decision: true, Target: e.Target, Failure: e.Failure})
	}
	r.apply(e)
	return true
}

// isTimer reports whether a command has started a timer.
func isTimer(c *machine.Command, kind machine.TimerKind, task machine.TaskID, fan, lane int) bool {
	return c.Timer == kind && c.Task == task && c.Fan == fan && c.Lane == lane
}

// output returns a result of a node in which the parts that count are open.
func (r *Run) output(v int) any {
	src := &r.s.Model.sources[v]
	out := src.base
	for i := range src.parts {
		p := &src.parts[i]
		if len(p.options) == 0 {
			continue
		}
		if value := r.partValue(p, v); value != any(unset{}) {
			out = withPart(out, p.path, value)
		}
	}
	return out
}

// partValue returns a value for a part of a node's result, or for an input if node is -1.
func (r *Run) partValue(p *part, node int) any {
	fixed := slices.ContainsFunc(p.keys, func(key string) bool { return r.s.Fixed[key] })
	s := slot{part: p, source: p.source, node: node, options: p.options}
	switch {
	case fixed && p.optional:
		return unset{}
	case fixed && (p.counts || node < 0):
		s.options, s.source = nil, "fixed"
	case !p.counts:
		return p.usual
	}
	value := r.newSlot(s)
	if p.now && value != any(unset{}) && (node >= 0 || !fixed) {
		value, _ = r.chooseParts(value, true)
	}
	return value
}

// withPart returns data with a value at a path.
func withPart(data any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := data.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = withPart(out[path[0]], path[1:], value)
	return out
}

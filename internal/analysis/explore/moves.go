// The events that can happen next in a run.

package explore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// listMoves lists the events that can happen next, without times and outputs.
func (r *Run) listMoves() []machine.Event {
	var out []machine.Event
	switch {
	case len(r.tasks) > 0:
		for _, id := range r.listEndingTasks() {
			out = append(out, r.listEndings(id)...)
		}
		return out
	case len(r.decides) > 0:
		c := &r.decides[0] // decisions are independent
		for _, option := range c.Choice.Candidates {
			out = append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Target: option.Target})
		}
		return append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Failure: &machine.Failure{Kind: "llm", Message: "no decision"}})
	}
	for _, q := range r.State.Questions() {
		out = append(out, machine.Event{Kind: machine.Answered, Task: q.Task, Question: q.ID})
	}
	for _, t := range r.listDueTimers() {
		out = append(out, machine.Event{Kind: machine.TimerFired, Task: t.Task, Timer: t.Timer, Fan: t.Fan, Lane: t.Lane})
	}
	return out
}

// listEndingTasks returns the tasks that can end next, or one of them if no order matters.
func (r *Run) listEndingTasks() []machine.TaskID {
	room := 1
	if r.s.Model.ranks {
		room = cmp.Or(r.s.Model.graph.Limits.MaxConcurrency, len(r.tasks))
	}
	return r.tasks[:min(room, len(r.tasks))]
}

// listEndings lists the events that can end a task or suspend it.
func (r *Run) listEndings(id machine.TaskID) []machine.Event {
	m := r.s.Model
	v := r.findNode(id)
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

// listDueTimers returns the timers that can fire next. Unless the search is Late, these are the
// first one, or none if all are time limits.
func (r *Run) listDueTimers() []machine.Command {
	isLimit := func(t machine.Command) bool {
		return !slices.Contains([]machine.TimerKind{machine.WaitTimer, machine.RetryTimer, machine.AnswerTimer, machine.BranchTimer}, t.Timer)
	}
	waiting := slices.DeleteFunc(slices.Clone(r.timers), isLimit)
	if r.s.Late || len(waiting) == 0 {
		return waiting
	}
	return []machine.Command{slices.MinFunc(r.timers, func(a, b machine.Command) int { return int(min(max(a.For-b.For, -1), 1)) })}
}

// takeEvent adds the output of an event and applies it. It returns false if the event can't
// happen.
func (r *Run) takeEvent(e machine.Event) bool {
	switch e.Kind {
	case machine.TaskEnded:
		if !slices.Contains(r.tasks, e.Task) {
			return false
		}
		if len(e.Asks) > 0 {
			r.asked[e.Task] = true
			r.removeTask(e.Task)
			break
		}
		end := &result{failure: e.Failure}
		if e.Failure == nil {
			end.output = r.newOutput(r.findNode(e.Task))
		}
		r.results[r.nameExecution(e.Task)] = end
		r.finishTask(e.Task)
		return true
	case machine.Answered:
		if !slices.ContainsFunc(r.State.Questions(), func(q machine.Question) bool { return q.Task == e.Task && q.ID == e.Question }) {
			return false
		}
		e.Output = "yes"
		if v := r.findNode(e.Task); r.s.Model.graph.Nodes[v].Kind.Value == "human" {
			e.Output = r.newOutput(v)
			r.results[r.nameExecution(e.Task)] = &result{output: e.Output}
		}
		r.noteChosen(e.Task, Chosen{Output: e.Output})
		r.asking--
	case machine.TimerFired:
		i := slices.IndexFunc(r.timers, func(t machine.Command) bool { return isTimer(&t, e.Timer, e.Task, e.Fan, e.Lane) })
		if i < 0 {
			return false
		}
		if e.Timer == machine.AnswerTimer {
			r.noteChosen(e.Task, Chosen{Absent: true})
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
		r.noteChosen(e.Task, Chosen{Decision: true, Target: e.Target, Failure: e.Failure})
	}
	r.applyEvent(e)
	return true
}

// isTimer reports whether a command is about a timer.
func isTimer(c *machine.Command, kind machine.TimerKind, task machine.TaskID, fan, lane int) bool {
	return c.Timer == kind && c.Task == task && c.Fan == fan && c.Lane == lane
}

// newOutput returns a result of a node with open parts.
func (r *Run) newOutput(v int) any {
	src := &r.s.Model.sources[v]
	out := src.base
	for i := range src.parts {
		p := &src.parts[i]
		if len(p.options) == 0 {
			continue
		}
		if value := r.newPartValue(p, v); value != any(unset{}) {
			out = setPart(out, p.path, value)
		}
	}
	return out
}

// newPartValue returns a value for a part of a result, or for an input if node is -1.
func (r *Run) newPartValue(p *part, node int) any {
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

// setPart returns a copy of data with a value at a path.
func setPart(data any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := data.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = setPart(out[path[0]], path[1:], value)
	return out
}

// The events that can happen next in a run.

package explore

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// choice is one event that can happen.
type choice struct {
	kind     machine.EventKind
	task     machine.TaskID
	failure  *machine.Failure
	asks     bool // the task asks somebody first
	timer    timer
	question string
	target   string
}

// moves lists the events that can happen next.
func (r *Run) moves() []choice {
	var out []choice
	switch {
	case len(r.tasks) > 0:
		for _, id := range r.racing() {
			out = append(out, r.endings(id)...)
		}
		return out
	case len(r.decides) > 0:
		c := &r.decides[0] // the other decisions do not depend on it
		for _, option := range c.Choice.Candidates {
			out = append(out, choice{kind: machine.Decided, task: c.Task, target: option.Target})
		}
		return append(out, choice{kind: machine.Decided, task: c.Task, failure: &machine.Failure{Kind: "llm", Message: "no decision"}})
	}
	for _, q := range r.State.Questions() {
		out = append(out, choice{kind: machine.Answered, task: q.Task, question: q.ID})
	}
	for _, t := range r.due() {
		out = append(out, choice{kind: machine.TimerFired, timer: t})
	}
	return out
}

// racing returns the tasks that can be the next to end. One is enough where no order
// matters.
func (r *Run) racing() []machine.TaskID {
	room := r.s.Model.graph.Limits.MaxConcurrency
	if room <= 0 || room > len(r.tasks) {
		room = len(r.tasks)
	}
	if !r.s.Model.ranks {
		room = 1
	}
	return r.tasks[:room]
}

// endings lists how a task can end.
func (r *Run) endings(id machine.TaskID) []choice {
	m := r.s.Model
	v := r.node(id)
	out := []choice{{kind: machine.TaskEnded, task: id}}
	if m.mayFail[v] || v == r.s.Watch {
		for _, failure := range m.failures(v) {
			out = append(out, choice{kind: machine.TaskEnded, task: id, failure: failure})
		}
	}
	if r.s.Late && len(r.State.Current()) > 1 && !r.asked[id] && id.Element == 0 {
		out = append(out, choice{kind: machine.TaskEnded, task: id, asks: true})
	}
	return out
}

// due returns the timers that can be the next to fire. Unless the search is Late, that is
// the first one, and none if only limits of time are left.
func (r *Run) due() []timer {
	if r.s.Late {
		return slices.DeleteFunc(slices.Clone(r.timers), timer.isLimit)
	}
	if !slices.ContainsFunc(r.timers, func(t timer) bool { return !t.isLimit() }) {
		return nil
	}
	return []timer{slices.MinFunc(r.timers, func(a, b timer) int { return int(min(max(a.due-b.due, -1), 1)) })}
}

// isLimit reports whether a timer limits the time of something that runs.
func (t timer) isLimit() bool {
	switch t.kind {
	case machine.WaitTimer, machine.RetryTimer, machine.AnswerTimer, machine.BranchTimer:
		return false
	}
	return true
}

// take lets an event happen; false if it can't.
func (r *Run) take(c *choice) bool {
	switch c.kind {
	case machine.TaskEnded:
		return r.end(c)
	case machine.Answered:
		if !slices.ContainsFunc(r.State.Questions(), func(q machine.Question) bool { return q.Task == c.task && q.ID == c.question }) {
			return false
		}
		var answer any = "yes"
		if n := r.s.Model.graph.Node(r.places[c.task.Task].Node); n.Kind.Value == "human" {
			answer = r.output(n.Index)
			r.results[r.execution(c.task)] = &result{output: answer}
		}
		r.note(c.task, Chosen{Output: answer})
		r.asking--
		if !r.stopped {
			r.apply(machine.Event{Kind: machine.Answered, Task: c.task, Question: c.question, Output: answer})
		}
	case machine.TimerFired:
		return r.fire(c.timer)
	case machine.Decided:
		i := slices.IndexFunc(r.decides, func(d machine.Command) bool { return d.Task == c.task })
		if i < 0 {
			return false
		}
		r.decides = slices.Delete(slices.Clone(r.decides), i, i+1)
		r.note(c.task, Chosen{Decision: true, Target: c.target, Failure: c.failure})
		r.apply(machine.Event{Kind: machine.Decided, Task: c.task, Target: c.target, Failure: c.failure})
	}
	return true
}

// fire lets a timer run out.
func (r *Run) fire(t timer) bool {
	i := slices.Index(r.timers, t)
	if i < 0 {
		return false
	}
	if t.kind == machine.AnswerTimer {
		r.note(t.task, Chosen{Absent: true})
		r.asking--
	}
	r.timers = slices.Delete(slices.Clone(r.timers), i, i+1)
	if !r.s.Late {
		r.now = max(r.now, t.due)
	}
	r.apply(machine.Event{Kind: machine.TimerFired, Task: t.task, Timer: t.kind, Fan: t.fan, Lane: t.lane})
	return true
}

// end ends a task.
func (r *Run) end(c *choice) bool {
	if !slices.Contains(r.tasks, c.task) {
		return false
	}
	if c.asks {
		r.asked[c.task] = true
		r.remove(c.task)
		r.apply(machine.Event{Kind: machine.TaskEnded, Task: c.task, Asks: []machine.Ask{{ID: "1", Key: "1", Prompt: "?"}}})
		return true
	}
	end := &result{failure: c.failure}
	if c.failure == nil {
		end.output = r.output(r.node(c.task))
	}
	r.results[r.execution(c.task)] = end
	if !r.stopped {
		r.finish(c.task)
	}
	return true
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
		value := p.options[0]
		if p.counts {
			s := slot{name: p.name, source: p.source, options: p.options, partial: p.partial, usual: value}
			if slices.ContainsFunc(p.keys, func(key string) bool { return r.s.Fixed[key] }) {
				s.options, s.source = nil, "fixed"
			}
			if value = r.open(s); p.now && value != any(unset{}) {
				value = r.closed(value, true)
			}
		}
		if value != any(unset{}) {
			out = placed(out, p.path, value)
		}
	}
	return out
}

// placed returns data with a value at a path.
func placed(data any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := data.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = placed(out[path[0]], path[1:], value)
	return out
}

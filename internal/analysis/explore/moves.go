// What may happen next in a run, and what that comes to.

package explore

import (
	"maps"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/runner/machine"
)

// choice is one thing that may happen.
type choice struct {
	kind     machine.EventKind
	task     machine.TaskID
	values   []any // of the parts of an output that are read at once
	failure  *machine.Failure
	asks     bool // the task asks somebody first
	timer    timer
	question string
	target   string
}

// slot is a value that nobody has had to know so far.
type slot struct {
	key     string // a state key that takes its value, for messages
	source  string // the same for slots of which the same is known
	options []any
	partial bool // there are other options
}

func (r *Run) newSlot(s slot) int {
	r.slots = append(r.slots, s)
	return len(r.slots)
}

// bindings are the values that a slot may have.
func (r *Run) bindings(at int) []any {
	s := &r.slots[at-1]
	if s.partial {
		r.s.gap(strconv.Quote(s.key) + " may have many values")
	}
	return s.options
}

// moves lists what may happen next.
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
		for _, values := range r.s.Model.answers(&q) {
			out = append(out, choice{kind: machine.Answered, task: q.Task, question: q.ID, values: values})
		}
	}
	for _, t := range r.due() {
		out = append(out, choice{kind: machine.TimerFired, timer: t})
	}
	return out
}

// racing are the tasks that may be the next to end: where only all of them together
// decide what follows, one.
func (r *Run) racing() []machine.TaskID {
	room := r.s.Model.graph.Limits.MaxConcurrency
	if room <= 0 || room > len(r.tasks) {
		room = len(r.tasks)
	}
	if !r.s.ranks {
		room = 1
	}
	return r.tasks[:room]
}

// endings are what may become of a task.
func (r *Run) endings(id machine.TaskID) []choice {
	m := r.s.Model
	v := r.node(id)
	var out []choice
	for _, values := range m.outputs(v, r.s) {
		out = append(out, choice{kind: machine.TaskEnded, task: id, values: values})
	}
	if m.mayFail[v] || v == r.s.Watch {
		for _, failure := range m.failures(v) {
			out = append(out, choice{kind: machine.TaskEnded, task: id, failure: failure})
		}
	}
	if r.s.Late && r.beside() && !r.asked[id] && id.Element == 0 {
		out = append(out, choice{kind: machine.TaskEnded, task: id, asks: true})
	}
	return out
}

// beside reports whether others could go on while a task waits.
func (r *Run) beside() bool { return len(r.State.Current()) > 1 }

// take lets something happen; false when it can't.
func (r *Run) take(c *choice) bool {
	switch c.kind {
	case machine.TaskEnded:
		return r.end(c)
	case machine.Answered:
		if !slices.ContainsFunc(r.State.Questions(), func(q machine.Question) bool { return q.Task == c.task && q.ID == c.question }) {
			return false
		}
		var answer any
		if n := r.s.Model.graph.Node(r.places[c.task.Task].Node); n.Kind.Value == "human" {
			answer = r.output(n.Index, c.task, c.values)
		} else {
			answer = c.values[0]
		}
		r.choose(c.task, Chosen{Output: answer})
		r.asking--
		r.apply(machine.Event{Kind: machine.Answered, Task: c.task, Question: c.question, Output: answer})
	case machine.TimerFired:
		if c.timer.kind == machine.AnswerTimer {
			r.choose(c.timer.task, Chosen{Absent: true})
			r.asking--
		}
		return r.fire(c.timer)
	case machine.Decided:
		i := slices.IndexFunc(r.decides, func(d machine.Command) bool { return d.Task == c.task })
		if i < 0 {
			return false
		}
		r.decides = slices.Delete(slices.Clone(r.decides), i, i+1)
		r.choose(c.task, Chosen{Decision: true, Target: c.target, Failure: c.failure})
		r.apply(machine.Event{Kind: machine.Decided, Task: c.task, Target: c.target, Failure: c.failure})
	}
	return true
}

// choose notes what an execution came to.
func (r *Run) choose(id machine.TaskID, what Chosen) {
	place := r.places[id.Task]
	what.Node, what.Visit = r.s.Model.graph.Node(place.Node).Index, place.Visit
	r.chosen = append(r.chosen, what)
}

// end ends a task.
func (r *Run) end(c *choice) bool {
	if !slices.Contains(r.tasks, c.task) {
		return false
	}
	if c.asks {
		if r.asked == nil {
			r.asked = map[machine.TaskID]bool{}
		}
		r.asked[c.task] = true
		r.ends(c.task)
		r.apply(machine.Event{Kind: machine.TaskEnded, Task: c.task, Asks: []machine.Ask{{ID: "1", Key: "1", Prompt: "?"}}})
		return true
	}
	end := &result{failure: c.failure}
	r.results[r.execution(c.task)] = end
	if c.failure == nil {
		end.output = r.output(r.node(c.task), c.task, c.values)
	}
	r.finish(c.task)
	return true
}

// output makes what a node yields: values are those of the parts that are read at once,
// the others are open until they are read.
func (r *Run) output(v int, id machine.TaskID, values []any) any {
	m := r.s.Model
	src := &m.sources[v]
	out := src.base
	name := r.execution(id)
	if r.results[name] == nil {
		r.results[name] = &result{}
	}
	end := r.results[name]
	end.slots = make([]int, len(src.parts))
	for i := range src.parts {
		p := &src.parts[i]
		if len(p.options) == 0 {
			continue
		}
		value := p.options[0]
		switch {
		case !p.counts:
		case p.now:
			value, values = values[0], values[1:]
		default:
			end.slots[i] = r.newSlot(slot{key: p.keys[0], source: p.source, options: p.options, partial: p.partial})
			if known, ok := r.bound[end.slots[i]]; ok {
				value, end.slots[i] = known, noSlot
			}
		}
		if _, absent := value.(unset); !absent {
			out = placed(out, p.path, value)
		}
	}
	return out
}

// placed is data with a value at a path.
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

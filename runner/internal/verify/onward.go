// Replays that check: how another version of a graph goes on with what is recorded,
// behind the place where it leads elsewhere.

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// onward walks another version of a run's graph with what is recorded.
type onward struct {
	walker *Walk
	given  map[machine.TaskID]machine.Event // how executions ended, by their names now
	names  map[string]string                // of nodes then: what they are now
	queue  []machine.Event
	needs  []string
	at     int64
}

// maxOnward is how many events such a walk has at most: limits may be gone.
const maxOnward = 100_000

// Onward walks another version of the graph, now, from the beginning of a run with what
// its events hold; then walks the version that it ran. Both have taken no event yet. nil:
// the events do not begin with the run.
func Onward(then, now *Walk, events []machine.Event) (*view.Onward, error) {
	if len(events) == 0 || events[0].Kind != machine.RunBegan {
		return nil, nil
	}
	w := now
	o := &onward{walker: w, names: renamed(then.Graph, now.Graph), given: map[machine.TaskID]machine.Event{}}
	if err := o.gather(then, events); err != nil {
		return nil, err
	}
	o.queue = []machine.Event{events[0]}
	for n := 0; n < maxOnward && (len(o.queue) > 0 || w.due) && !w.State.Ended(); n++ {
		event := machine.Event{Kind: machine.Advanced, At: o.at}
		if len(o.queue) > 0 {
			event, o.queue = o.queue[0], o.queue[1:]
		}
		if err := o.step(&event); err != nil {
			return nil, err
		}
	}
	out := &view.Onward{Needs: o.needs, Path: []string{}}
	for _, node := range w.Path {
		out.Path = append(out.Path, w.Plan.NodeID(node))
	}
	if s := w.State; s.Ended() {
		out.End, out.Needs = strings.TrimSuffix(string(s.Status)+" "+s.Reason, " "), nil
	}
	for was, is := range o.names { //lint:ignore mapiter each entry by itself
		if was != is {
			if out.Renamed == nil {
				out.Renamed = map[string]string{}
			}
			out.Renamed[was] = is
		}
	}
	return out, nil
}

// renamed says what the nodes of a graph are called in another version: one that is
// gone is the only new one that is defined in the same words.
func renamed(then, now *spec.Graph) map[string]string {
	names := map[string]string{}
	text := func(g *spec.Graph, id string) string {
		span := g.Node(id).Span
		return strings.Join(strings.Fields(string(g.File.Src[span.From:span.To])), " ")
	}
	alike := map[string][]string{}
	for _, n := range now.Nodes {
		if id := n.ID.Value; then.Node(id) == nil {
			alike[text(now, id)] = append(alike[text(now, id)], id)
		}
	}
	for _, n := range then.Nodes {
		id := n.ID.Value
		if found := alike[text(then, id)]; now.Node(id) == nil && len(found) == 1 {
			names[id] = found[0]
		} else {
			names[id] = id
		}
	}
	return names
}

// gather finds how the executions of a record ended, those of nodes that the graph
// executes itself too.
func (o *onward) gather(then *Walk, events []machine.Event) error {
	keep := func(e machine.Event) {
		e.Task.Node = o.names[e.Task.Node]
		o.given[e.Task] = e
	}
	for i := range events {
		e := &events[i]
		if err := then.Step(e); err != nil {
			return err
		}
		o.at = max(o.at, e.At)
		switch {
		case e.Kind == machine.TaskEnded && e.Park == nil, e.Kind == machine.Decided:
			keep(*e)
		case e.Kind == machine.Answered && e.Question == "":
			keep(*e)
		}
		notes := then.State.Notes()
		for i := range notes {
			n := &notes[i]
			id := machine.TaskID{Node: then.Plan.NodeID(n.Node), Visit: int(n.Visit), Attempt: max(1, int(n.Attempt))}
			if n.Kind == machine.NoteNodeCompleted && then.itself(id.Node) {
				keep(machine.Event{Kind: machine.TaskEnded, Task: id, At: e.At, Output: machine.Plain(n.Output)})
			}
		}
	}
	return nil
}

// step applies an event and answers what the machine wants with what is recorded.
func (o *onward) step(event *machine.Event) error {
	w := o.walker
	if event.Kind == machine.Advanced {
		w.due, event.Superstep = false, w.State.Superstep
	}
	commands, err := w.Plan.Apply(w.State, *event)
	if err != nil {
		return err
	}
	w.Path = append(w.Path, w.State.Ran...)
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case machine.Advance:
			w.due = true
		case machine.RunTask:
			o.give(c.Task, machine.TaskEnded, "")
		case machine.Decide:
			o.give(c.Task, machine.Decided, "")
		case machine.AskPerson:
			o.give(c.Task, machine.Answered, c.Question.ID)
		case machine.CancelTask:
			failure := &machine.Failure{Kind: "cancelled", Message: "it is not needed any more"}
			o.queue = append(o.queue, machine.Event{Kind: machine.TaskEnded, At: o.at, Task: c.Task, Failure: failure})
		case machine.StartTimer:
			if c.Timer == machine.WaitTimer || c.Timer == machine.RetryTimer { // time is not waited for
				o.queue = append(o.queue, machine.Event{Kind: machine.TimerFired, At: o.at, Task: c.Task, Timer: c.Timer})
			}
		}
	}
	return nil
}

// give queues what is recorded of an execution.
func (o *onward) give(task machine.TaskID, kind machine.EventKind, question string) {
	e, ok := o.given[task]
	switch {
	case !ok:
		if need := fmt.Sprintf("%s #%d", task.Node, task.Visit); !slices.Contains(o.needs, need) {
			o.needs = append(o.needs, need)
		}
		return
	case kind == machine.Answered && e.Kind == machine.TaskEnded: // it was no question then
		e = machine.Event{Kind: kind, Task: task, At: e.At, Output: e.Output, Question: question}
	case kind == machine.TaskEnded && e.Kind == machine.Answered:
		e = machine.Event{Kind: kind, Task: task, At: e.At, Output: e.Output}
	}
	e.Undo, e.Hold = nil, false
	o.queue = append(o.queue, e)
}

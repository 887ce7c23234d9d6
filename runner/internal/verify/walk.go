// Package verify walks a recorded run once more, executing nothing, and says whether the
// machine still decides as it did; or where another version of the graph leads
// elsewhere, why, and how it goes on.
package verify

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Run is a recorded run at the place where a walk through it begins, in one version of
// its graph.
type Run struct {
	Graph *spec.Graph
	Plan  *machine.Plan
	// State is changed by the walk.
	State *machine.State
	// Mask hides secrets in what is said of the run, and learns more of them on the way.
	Mask *mask.Masker
	// Child gives the graph that a node runs; nil: it runs none.
	Child func(node string) *Child
}

// Child is a graph that a node of a run runs.
type Child struct {
	Graph *spec.Graph
	Plan  *machine.Plan
	// Begin is a run of it by a task, where a reading of its notes begins.
	Begin func(task machine.TaskID, notes *journal.Reading) (*Run, error)
}

// Walk walks a recorded run.
type Walk struct {
	Run
	// Path are the nodes that the walk has come through, Last is when the last event
	// happened, in Unix nanoseconds.
	Path []int32
	Last int64
	// asked are the tasks that the machine wanted to run.
	asked map[machine.TaskID]bool
	// fresh are those of the last event, as text, sorted.
	fresh  []string
	routes []routed
	// ahead are the routes that the other walk has not come to.
	ahead []routed
	// due says that the machine wants its superstep closed.
	due bool
	// Lenient says that the walk may execute itself what the record had run, and
	// takes what the record executed itself for what a task gave.
	Lenient bool
	// inside are the walks through subgraphs, by the task that ran them.
	inside map[machine.TaskID]*insideWalk
}

// routed is where an execution led.
type routed struct {
	step int
	node string
	next []string
	// edges are those that fired, why the reasons of all.
	edges []int
	why   []string
}

// New is a walk that has taken no event yet.
func New(run *Run) *Walk {
	run.State.Watched, run.State.Explain = true, true
	w := &Walk{Run: *run, asked: map[machine.TaskID]bool{}, inside: map[machine.TaskID]*insideWalk{}}
	for _, id := range run.State.Running() { // the walk may begin at a snapshot
		w.asked[id] = true
	}
	return w
}

// Step applies an event and keeps what the machine decided.
func (w *Walk) Step(event *machine.Event) error {
	w.fresh, w.routes = w.fresh[:0], w.routes[:0]
	if event.Kind == machine.RunBegan {
		if event.Run != nil {
			w.Mask.Learn(event.Run.Session)
		}
		w.Mask.Learn(event.Input)
	}
	w.Last = max(w.Last, event.At)
	commands, err := w.Plan.Apply(w.State, *event)
	if err != nil {
		return err
	}
	w.Path = append(w.Path, w.State.Ran...)
	if event.Kind == machine.Advanced {
		w.due = false
	}
	for i := range commands {
		w.due = w.due || commands[i].Kind == machine.Advance
		if c := &commands[i]; c.Kind == machine.RunTask || c.Kind == machine.AskPerson {
			w.asked[c.Task] = true
			w.fresh = append(w.fresh, fmt.Sprintf("%s #%d", c.Task.Node, c.Task.Visit))
		}
	}
	slices.Sort(w.fresh)
	notes := w.State.Notes()
	for i := range notes {
		if n := &notes[i]; n.Kind == machine.NoteEdgesResolved {
			w.routes = append(w.routes, routed{int(n.Step), w.Plan.NodeID(n.Node), w.targets(n), w.fired(n), w.reasons(n)})
		}
	}
	return nil
}

// targets are the nodes that a note names.
func (w *Walk) targets(n *machine.Note) []string {
	out := []string{}
	for _, taken := range w.State.Taken(n) {
		out = append(out, w.Plan.NodeID(taken.To))
	}
	return out
}

// fired are the edges that a note says fired; -1: a label of ends.
func (w *Walk) fired(n *machine.Note) []int {
	taken := w.State.Taken(n)
	out := make([]int, len(taken))
	for i := range taken {
		out[i] = int(taken[i].Edge)
	}
	return out
}

// reasons says of every way out why it was taken or not.
func (w *Walk) reasons(n *machine.Note) []string {
	var out []string
	for _, c := range w.State.AppendCandidates(nil, n) {
		out = append(out, fmt.Sprintf("%s: %s", c.To, w.Mask.Text(c.Why)))
	}
	return out
}

// Telling how what runs in a subgraph ends with the node that runs it, and begins
// again with it.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// tellInside tells of what was under way in the subgraphs of an execution that is
// cut short, or begins again. One that has ended has told so itself.
func (d *driver) tellInside(n *machine.Note, at int64) {
	for _, logged := range n.Inside {
		children, err := d.readChildrenOf(logged.Task, logged.Log)
		if err != nil {
			continue // who resumes the run is told
		}
		for _, child := range children {
			child.tellActive(n, at, func(e *Event) {
				d.event = *e
				d.emit()
			})
		}
	}
}

// tellActive makes the events of what a subgraph is at.
func (d *driver) tellActive(n *machine.Note, at int64, tell func(*Event)) {
	if d.state.Ended() {
		return
	}
	for _, a := range d.state.Active() {
		e := Event{
			Type: NodeStarted, Time: time.Unix(0, at), Node: d.nested.path(a.Node), Place: d.nested.among(a.Node), Visit: a.Visit, Attempt: max(1, a.Attempt),
			Superstep: d.state.Superstep, Kind: d.flow.tree.Graph.Node(a.Node).Kind.Value, Step: a.Step,
		}
		if _, branch := d.state.Begun(a.TaskID); branch != "" {
			e.Branch = branch
		}
		if n.Kind == machine.NoteNodeStarted {
			tell(&e)
		}
		inside, err := d.readChildren(a.TaskID)
		if err != nil {
			inside = nil // as in tellInside
		}
		for _, child := range inside {
			child.tellActive(n, at, tell)
		}
		if n.Kind == machine.NoteNodeFailed {
			failure := *n.Failure
			failure.Node, failure.Attempt = a.Node, e.Attempt
			e.Type, e.Step, e.Duration, e.Error = NodeFailed, 0, time.Duration(max(0, at-a.Began)), &failure
			tell(&e)
		}
	}
}

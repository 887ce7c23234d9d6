// From the machine's notes to the events that a sink sees.

package runner

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// emit numbers the driver's event and gives it to the sink. The first error of
// the sink is kept; after it the sink sees nothing more.
func (d *driver) emit() {
	if d.opts.Sink == nil || d.sinkErr != nil {
		return
	}
	d.seq++
	d.event.Seq, d.event.RunID = d.seq, d.opts.RunID
	d.sinkErr = d.opts.Sink.Event(&d.event)
}

// announce tells that the run starts.
func (d *driver) announce(input map[string]any) {
	if !d.watched {
		return
	}
	limit := d.flow.graph.Limits.MaxSteps
	if d.opts.MaxSteps > 0 {
		limit = d.opts.MaxSteps
	}
	d.event = Event{
		Type: RunStarted, Time: d.started, Graph: d.flow.graph.Name.Value, Start: d.plan.Start(),
		MaxSteps: limit, Input: d.mask.state(input),
	}
	d.emit()
}

// conclude tells how the run ended.
func (d *driver) conclude(result *Result) {
	if !d.watched {
		return
	}
	d.event = Event{Type: RunFinished, Time: d.clock.Now(), Result: result}
	d.emit()
}

// said tells what a running node said.
func (d *driver) said(m *message) {
	if !d.watched {
		return
	}
	kind := NodeEvent
	if m.said.Type == "text" {
		kind = NodeOutput
	}
	m.said.Text, m.said.Message = d.mask.text(m.said.Text), d.mask.text(m.said.Message)
	m.said.Data = d.mask.value(m.said.Data)
	d.event = Event{
		Type: kind, Time: d.clock.Now(), Node: m.task.Node, Visit: m.task.Visit, Attempt: m.task.Attempt, Said: m.said,
	}
	d.emit()
}

// publish tells what the machine noted about the event it applied.
func (d *driver) publish(at int64) {
	now := time.Unix(0, at)
	notes := d.state.Notes()
	for i := range notes {
		n := &notes[i]
		if d.opts.History {
			d.remember(n, at)
		}
		if d.opts.Sink == nil {
			continue
		}
		if !d.lean {
			d.event = Event{}
		}
		e := &d.event
		e.Time, e.Superstep, e.Step, e.Node, e.Visit, e.Attempt = now, n.Superstep, n.Step, n.Node, n.Visit, n.Attempt
		d.describe(n, at)
		d.emit()
	}
}

func (d *driver) describe(n *machine.Note, at int64) {
	e := &d.event
	switch n.Kind {
	case machine.NoteSuperstepStarted:
		e.Type, e.Nodes = SuperstepStarted, n.Nodes
	case machine.NoteSuperstepCompleted:
		e.Type, e.Nodes = SuperstepCompleted, n.Nodes
	case machine.NoteNodeStarted:
		e.Type, e.Kind = NodeStarted, n.NodeKind
	case machine.NoteNodeRetrying:
		e.Type, e.Error, e.MaxAttempts, e.NextDelay = NodeRetrying, d.mask.failure(n.Failure), n.MaxAttempts, n.Delay
	case machine.NoteNodeCompleted:
		e.Type, e.Kind, e.Output, e.Cached, e.Skipped = NodeCompleted, n.NodeKind, d.mask.value(n.Output), n.Cached, n.Skipped
		e.Duration = time.Duration(at - n.Began)
	case machine.NoteNodeFailed:
		e.Type, e.Kind, e.Error = NodeFailed, n.NodeKind, d.mask.failure(n.Failure)
		e.Duration = time.Duration(at - n.Began)
	case machine.NoteNodeEmitted:
		e.Type, e.Said = NodeEvent, &Said{Type: "custom", Name: "emit", Data: d.mask.value(n.Output)}
	case machine.NoteEdgesResolved:
		e.Type, e.Output, e.Next, e.Candidates = EdgesResolved, d.mask.value(n.Output), n.Next, n.Candidates
		e.MaxSteps = d.state.MaxSteps()
	case machine.NoteStateUpdated:
		e.Type, e.Delta = StateUpdated, d.mask.delta(n.Delta)
	}
}

// remember keeps the history: an execution, and later where it led.
func (d *driver) remember(n *machine.Note, at int64) {
	switch n.Kind {
	case machine.NoteNodeCompleted, machine.NoteNodeFailed:
		record := HistoryRecord{
			Step: n.Step, Node: n.Node, Visit: n.Visit, Outcome: "success", Output: d.mask.value(machine.Plain(n.Output)),
			Edges: []int{}, Next: []string{}, Duration: Milliseconds(at - n.Began),
		}
		if n.Kind == machine.NoteNodeFailed {
			record.Outcome = "failure"
		}
		if n.Step > 0 {
			d.history = append(d.history, record)
		}
	case machine.NoteEdgesResolved:
		for i := len(d.history) - 1; i >= 0; i-- {
			if record := &d.history[i]; record.Step == n.Step {
				record.Next = slices.Clone(n.Next)
				for _, c := range n.Candidates {
					if c.Fired && c.Edge >= 0 {
						record.Edges = append(record.Edges, c.Edge)
					}
				}
				return
			}
		}
	}
}

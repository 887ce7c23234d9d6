// From the machine's notes to the events that a sink sees.

package runner

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// watch has the machine tell what somebody wants to know, or what is counted for those
// who read the journal.
func (d *driver) watch() {
	cfg := &d.flow.runner.cfg
	d.state.Watched, d.state.Warns = d.watched || cfg.Store != nil && !cfg.Unread, d.opts.Warn != nil
}

// emit numbers the driver's event and gives it to the sink, if there is one. The
// first error of the sink is kept; after it the sink sees nothing more.
func (d *driver) emit() {
	d.seq++
	if d.event.live {
		d.ahead = true
	}
	d.warn(&d.event)
	if d.opts.Sink == nil || d.sinkErr != nil {
		return
	}
	d.event.Seq, d.event.RunID = d.seq, d.opts.RunID
	d.sinkErr = d.opts.Sink.Event(&d.event)
}

// warn tells of a warning those who want no other events.
func (d *driver) warn(e *Event) {
	if d.opts.Warn != nil && e.Said != nil && e.Said.Type == "warning" {
		d.opts.Warn(e.Node, e.Said.Message)
	}
}

// announce tells that the run starts.
func (d *driver) announce(input map[string]any) {
	if !d.state.Watched {
		return
	}
	if input == nil { // of none, a journal has nothing
		input = map[string]any{}
	}
	limit := d.flow.tree.Graph.Limits.MaxSteps
	if d.opts.MaxSteps > 0 {
		limit = d.opts.MaxSteps
	}
	d.event = Event{
		Type: RunStarted, Time: d.started, Graph: d.flow.tree.Graph.Name.Value, Start: d.plan.Start(),
		MaxSteps: limit, Input: d.mask.State(input),
	}
	d.emit()
}

// conclude tells how the run ended, or that it pauses.
func (d *driver) conclude(result *Result, at int64) {
	if result.Status == machine.Paused {
		d.tell(RunPaused, at, result)
	}
	d.tell(RunFinished, at, result)
}

// tell tells of the run as a whole.
func (d *driver) tell(kind EventType, at int64, result *Result) {
	if d.state.Watched {
		d.event = Event{Type: kind, Time: time.Unix(0, at), Result: result}
		d.emit()
	}
}

// maxPartial is how many bytes of what a node says are kept for the case that it
// does not end well.
const maxPartial = 64 << 10

// saying is what a node has said so far; void that it counts no more once there is more.
type saying struct {
	text []byte
	void bool
}

func (s saying) and(said *Said) saying {
	if s.void && said.Text != "" {
		s = saying{}
	}
	if len(s.text) < maxPartial {
		s.text = append(s.text, said.Text...)
	}
	s.void = s.void || said.Broken
	return s
}

// said tells what a running node said.
func (d *driver) said(m *message) {
	kind := NodeEvent
	if m.said.Type == "text" {
		kind = NodeOutput
		d.texts[m.task] = d.texts[m.task].and(m.said)
	}
	if !d.watched && (d.opts.Warn == nil || m.said.Type != "warning") {
		return
	}
	switch m.said.Type {
	case "thinking":
		kind, m.said.Text = NodeThinking, d.mask.Text(m.said.Text)
	case "retrying":
		kind = NodeRetrying
	}
	if m.said.Type == "text" && !d.streamed(m) {
		return
	}
	m.said.Message = d.mask.Text(m.said.Message)
	m.said.Name = d.mask.Text(m.said.Name)
	m.said.Data = d.mask.Value(m.said.Data)
	d.tellSaid(kind, m)
}

func (d *driver) tellSaid(kind EventType, m *message) {
	d.eventOf(kind, d.now(), m.task)
	d.event.Said, d.event.live = m.said, true
	if r := m.said.Retry; r != nil {
		d.event.Attempt, d.event.MaxAttempts, d.event.NextDelay, d.event.Error = r.Attempt, r.MaxAttempts, r.Delay, d.mask.Failure(r.Error)
	}
	d.emit()
}

// eventOf begins an event of a running task.
func (d *driver) eventOf(kind EventType, at int64, task machine.TaskID) {
	d.event = Event{Type: kind, Time: time.Unix(0, at), Node: d.nested.path(task.Node), Visit: task.Visit, Attempt: task.Attempt}
	if step, branch := d.state.Begun(task); step > 0 {
		d.event.Step, d.event.Superstep, d.event.Branch = step, d.state.Superstep, branch
	}
}

// streamed masks a piece of text, whose end is kept back while it may be the
// beginning of a secret. It reports whether there is something to tell.
func (d *driver) streamed(m *message) bool {
	shown, rest := d.mask.Chunk(d.tails[m.task] + m.said.Text)
	if m.said.Final {
		shown += mask.LastChunk(rest)
		delete(d.tails, m.task)
	} else {
		if m.said.Broken {
			shown, rest = shown+mask.LastChunk(rest), ""
		}
		if d.tails == nil {
			d.tails = map[machine.TaskID]string{}
		}
		d.tails[m.task] = rest
	}
	m.said.Text = shown
	return shown != "" || m.said.Final || m.said.Broken
}

// tellTail ends the text of a node that has ended and did not say which piece was
// the last, with what was kept back of it.
func (d *driver) tellTail(task machine.TaskID) {
	if rest, open := d.tails[task]; open {
		delete(d.tails, task)
		d.tellSaid(NodeOutput, &message{task: task, said: &Said{Type: "text", Text: mask.LastChunk(rest), Final: true}})
	}
}

// publish tells what the machine noted about the event it applied.
func (d *driver) publish(at int64) {
	if d.opts.Sink == nil || d.sinkErr != nil {
		d.warnUntold()
		d.countUntold()
		return
	}
	notes := d.state.Notes()
	now := time.Unix(0, at)
	for i := range notes {
		n := &notes[i]
		if n.Kind == machine.NoteNodeFailed {
			d.tellInside(n, at)
		}
		e := &d.event
		*e = Event{} // filled in its place: it is large, and there are six a step
		e.Type, e.Time, e.Superstep, e.Step = noteType(n.Kind), now, int(n.Superstep), int(n.Step)
		e.Branch, e.Visit, e.Attempt = n.Branch, int(n.Visit), int(n.Attempt)
		if n.Node >= 0 {
			e.Node, e.Finally = d.plan.NodeID(n.Node), d.plan.IsFinal(n.Node)
		}
		d.describe(n, at)
		d.emit()
		if n.Kind == machine.NoteNodeStarted {
			d.tellInside(n, at)
		}
		if d.checkpoints && n.Kind == machine.NoteSuperstepCompleted {
			d.event = Event{Type: Checkpoint, Time: now, Step: d.steps(), Superstep: int(n.Superstep)}
			d.emit()
		}
	}
}

// warnUntold tells of the elements that failed where nobody is told of the rest.
func (d *driver) warnUntold() {
	for _, n := range d.state.Notes() {
		if n.Kind == machine.NoteNodeEmitted && n.Failure != nil {
			d.warn(&Event{Node: d.plan.NodeID(n.Node), Said: emitted(nil, d.mask.Failure(n.Failure))})
		}
	}
}

// learnConfided hides what nodes have written to secret keys, before anything of
// it is told.
func (d *driver) learnConfided() {
	for _, value := range d.state.Confided() {
		d.mask.LearnValue(machine.Plain(value))
	}
}

// noteType is the type of the event that tells a note.
func noteType(kind machine.NoteKind) EventType {
	switch kind {
	case machine.NoteSuperstepStarted:
		return SuperstepStarted
	case machine.NoteSuperstepCompleted:
		return SuperstepCompleted
	case machine.NoteNodeStarted:
		return NodeStarted
	case machine.NoteNodeRetrying:
		return NodeRetrying
	case machine.NoteNodeCompleted:
		return NodeCompleted
	case machine.NoteNodeFailed:
		return NodeFailed
	case machine.NoteNodeEmitted, machine.NoteElementEnded, machine.NoteJoinDropped, machine.NoteAsked, machine.NoteAnswered:
		return NodeEvent
	case machine.NoteEdgesResolved:
		return EdgesResolved
	case machine.NoteStateUpdated:
		return StateUpdated
	}
	return ""
}

// emitted is the custom event of a node's `emit`, or a warning of an element that
// failed where the others go on.
func emitted(data any, failure *Failure) *Said {
	if failure != nil {
		return &Said{Type: "warning", Message: failure.Kind + ": " + failure.Message + "; the other elements go on"}
	}
	return &Said{Type: "custom", Name: "emit", Data: data}
}

// droppedSaid is the event of a join whose waiting branches end.
func droppedSaid(n *machine.Note) *Said {
	failed, _ := n.Failure.Details["failed"].([]any)
	names := make([]string, len(failed))
	for i, name := range failed {
		names[i] = strconv.Quote(name.(string))
	}
	return &Said{Type: "dropped", Message: strings.Join(names, " and ") + " failed and can't reach it any more", Data: n.Failure.Details}
}

// elementSaid is the event of an element that has ended.
func elementSaid(n *machine.Note) *Said {
	e, outcome := n.Element, "success"
	if n.Failure != nil {
		outcome = "failure"
	}
	return &Said{Type: "element", Data: map[string]any{
		"index": e.Index, "item": e.Item, "outcome": outcome, "done": e.Done, "failed": e.Failed, "total": e.Total,
	}}
}

func (d *driver) describe(n *machine.Note, at int64) {
	e := &d.event
	switch n.Kind {
	case machine.NoteSuperstepStarted, machine.NoteSuperstepCompleted:
		e.Nodes = d.eventTargets(n)
	case machine.NoteNodeStarted:
		e.Kind = d.plan.NodeKind(n.Node)
	case machine.NoteNodeRetrying:
		e.Error, e.MaxAttempts = d.mask.Failure(n.Failure), n.Retry.MaxAttempts
		e.NextDelay, e.AskedDelay = n.Retry.Delay, n.Retry.Asked
	case machine.NoteNodeCompleted:
		e.Kind, e.Duration = d.plan.NodeKind(n.Node), time.Duration(max(0, at-n.Began))
		e.Output, e.Cached, e.Skipped = d.mask.Value(n.Output), n.Cached, n.Skipped
	case machine.NoteNodeFailed:
		e.Kind, e.Duration = d.plan.NodeKind(n.Node), time.Duration(max(0, at-n.Began))
		e.Error = d.mask.Failure(n.Failure)
	case machine.NoteNodeEmitted:
		e.Said = emitted(d.mask.Value(n.Output), d.mask.Failure(n.Failure))
	case machine.NoteJoinDropped:
		e.Said = droppedSaid(n)
	case machine.NoteElementEnded:
		e.Said = elementSaid(n)
		e.Said.Data = d.mask.Value(e.Said.Data)
	case machine.NoteAsked, machine.NoteAnswered:
		e.Said = d.asks(n)
	case machine.NoteEdgesResolved:
		e.Output, e.Next = d.mask.Value(n.Output), d.eventTargets(n)
		d.candidates = d.state.AppendCandidates(d.candidates[:0], n)
		e.Candidates = d.candidates
		d.mask.Candidates(e.Candidates)
		e.MaxSteps = d.state.MaxSteps()
	case machine.NoteStateUpdated:
		e.Delta = d.mask.Delta(d.state.Delta())
	}
}

// targets are the nodes that a note names.
func (d *driver) targets(n *machine.Note) []string {
	return append([]string{}, d.eventTargets(n)...)
}

// eventTargets are targets for the event, until the next one.
func (d *driver) eventTargets(n *machine.Note) []string {
	d.names = d.names[:0]
	for _, taken := range d.state.Taken(n) {
		d.names = append(d.names, d.plan.NodeID(taken.To))
	}
	return d.names
}

// rememberAll keeps what happened for the history.
func (d *driver) rememberAll(at int64) {
	notes := d.state.Notes()
	for i := range notes {
		d.remember(&notes[i], at)
	}
}

// remember keeps the history: an execution, and later where it led.
func (d *driver) remember(n *machine.Note, at int64) {
	switch n.Kind {
	case machine.NoteNodeCompleted, machine.NoteNodeFailed:
		record := view.HistoryRecord{
			Step: int(n.Step), Node: d.plan.NodeID(n.Node), Visit: int(n.Visit), Outcome: "success", Output: d.mask.Value(machine.Plain(n.Output)),
			Edges: []int{}, Next: []string{}, Duration: view.Milliseconds(max(0, at-n.Began)),
		}
		record.Reason = d.state.ReasonOf(int(n.Node))
		if n.Kind == machine.NoteNodeFailed {
			record.Outcome, record.Error = "failure", d.mask.Failure(n.Failure)
		}
		record.Finally = d.plan.IsFinal(n.Node)
		if record.Step > 0 || record.Finally {
			d.history = append(d.history, record)
		}
	case machine.NoteEdgesResolved:
		for i := len(d.history) - 1; i >= 0; i-- {
			if record := &d.history[i]; record.Step == int(n.Step) {
				record.Next = d.targets(n)
				for _, taken := range d.state.Taken(n) {
					if taken.Edge >= 0 {
						record.Edges = append(record.Edges, int(taken.Edge))
					}
				}
				slices.Sort(record.Edges)
				return
			}
		}
	}
}

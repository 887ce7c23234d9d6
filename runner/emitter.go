// Events of a run, from the machine's notes and from tasks.

package runner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// emitEvent numbers the driver's event and passes it to the sinks, unless the run's sink has failed.
func (d *driver) emitEvent() {
	d.seq++
	d.passWarning(&d.event)
	if d.hasListeners() {
		d.event.Seq, d.event.RunID = d.seq, d.opts.RunID
		if d.watcher != nil {
			_ = d.watcher.Event(&d.event)
		}
		if d.opts.Sink != nil {
			d.sinkErr = d.opts.Sink.Event(&d.event)
		}
	}
}

// hasListeners reports whether a sink receives events.
func (d *driver) hasListeners() bool {
	return (d.opts.Sink != nil || d.watcher != nil) && d.sinkErr == nil
}

func (d *driver) passWarning(e *Event) {
	if d.opts.Warn != nil && e.Said != nil && e.Said.Type == "warning" {
		d.opts.Warn(e.Node, e.Said.Message)
	}
}

// emitStarted emits that the run starts. maxSteps is the caller's limit, or 0.
func (d *driver) emitStarted(input map[string]any, maxSteps int) {
	if input == nil { // a journal omits an empty input
		input = map[string]any{}
	}
	d.event = Event{
		Type: RunStarted, Time: d.started, Graph: d.flow.tree.Graph.Name.Value, Start: d.plan.Start(),
		MaxSteps: cmp.Or(max(0, maxSteps), d.flow.tree.Graph.Limits.MaxSteps), Input: d.mask.MaskState(d.plan.Graph, input),
	}
	d.emitEvent()
}

// emitFinished emits that the run pauses or has ended.
func (d *driver) emitFinished(result *Result, at int64) {
	if result.Status == machine.Paused {
		d.emitRunEvent(RunPaused, at, result)
	}
	d.emitRunEvent(RunFinished, at, result)
}

func (d *driver) emitRunEvent(kind EventType, at int64, result *Result) {
	d.event = Event{Type: kind, Time: time.Unix(0, at), Result: result}
	d.emitEvent()
}

// maxPartial bounds the text of a node that is stored if the node fails.
const maxPartial = 64 << 10

// nodeText is the text that a node has emitted so far. If void is set, the next text replaces it.
type nodeText struct {
	text []byte
	void bool
}

func (s nodeText) appendText(said *Said) nodeText {
	if s.void && said.Text != "" {
		s = nodeText{}
	}
	if len(s.text) < maxPartial {
		s.text = append(s.text, said.Text...)
	}
	s.void = s.void || said.Broken
	return s
}

func (d *driver) sendSaid(task machine.TaskID, said Said) {
	d.sendMessage(func() *machine.Event {
		d.emitMasked(task, &said)
		return nil
	})
}

// emitMasked masks and emits a message of a running node.
func (d *driver) emitMasked(task machine.TaskID, said *Said) {
	kind := NodeEvent
	switch said.Type {
	case "text":
		kind = NodeOutput
		d.texts[task] = d.texts[task].appendText(said)
		if !d.maskPiece(task, said) {
			return
		}
	case "thinking":
		kind, said.Text = NodeThinking, d.mask.MaskText(said.Text)
	case "retrying":
		kind = NodeRetrying
	}
	said.Message, said.Name, said.Data = d.mask.MaskText(said.Message), d.mask.MaskText(said.Name), d.mask.MaskValue(said.Data)
	d.emitSaid(kind, task, said)
}

func (d *driver) emitSaid(kind EventType, task machine.TaskID, said *Said) {
	d.beginEvent(kind, d.now(), task)
	d.event.Said, d.event.live = said, true
	if r := said.Retry; r != nil {
		d.event.Attempt, d.event.MaxAttempts, d.event.NextDelay, d.event.Error = r.Attempt, r.MaxAttempts, r.Delay, d.mask.MaskFailure(r.Error)
	}
	d.emitEvent()
}

func (d *driver) beginEvent(kind EventType, at int64, task machine.TaskID) {
	place, ok := d.places[task]
	if !ok {
		place, _ = d.state.Place(task)
	}
	d.event = Event{Type: kind, Time: time.Unix(0, at), Attempt: task.Attempt}
	d.event.setPlace(&place, task.Element-1)
}

// setPlace sets where an event happened. index is the index of an element, or -1.
func (e *Event) setPlace(p *machine.Place, index int) {
	e.Node, e.Visit, e.Branch, e.Rank = nodePath(p), p.Visit, p.Branch, p.Rank
	if place := placePath(p, index); place != e.Node {
		e.Place = place
	}
}

// maskPiece masks a piece of text, and holds back an end that may be the beginning of a secret. It
// reports whether there is something to emit.
func (d *driver) maskPiece(task machine.TaskID, said *Said) bool {
	shown, rest := d.mask.MaskChunk(d.tails[task] + said.Text)
	if said.Final || said.Broken {
		shown, rest = shown+mask.MaskLastChunk(rest), ""
	}
	if d.tails[task] = rest; said.Final {
		delete(d.tails, task)
	}
	said.Text = shown
	return shown != "" || said.Final || said.Broken
}

// emitTail emits the text that maskPiece held back, if the node ended without a final piece.
func (d *driver) emitTail(task machine.TaskID) {
	if rest, open := d.tails[task]; open {
		delete(d.tails, task)
		d.emitSaid(NodeOutput, task, &Said{Type: "text", Text: mask.MaskLastChunk(rest), Final: true})
	}
}

// emitNotes emits the notes about the last event. Without listeners it only counts them, so that event
// numbers stay the same.
func (d *driver) emitNotes(at int64) {
	if !d.hasListeners() {
		d.seq += int64(d.state.NoteCount())
		d.warnAboutElements()
	} else {
		d.emitEachNote(at)
	}
	if d.opts.History {
		d.recordHistory(at)
	}
	if steps := d.state.RootSteps(); steps != d.checkpointSteps && d.flow.runner.cfg.Store != nil {
		d.checkpointSteps = steps
		d.event = Event{Type: Checkpoint, Time: time.Unix(0, at), Step: steps}
		d.emitEvent()
	}
}

func (d *driver) emitEachNote(at int64) {
	now := time.Unix(0, at)
	for i := range d.state.Notes() {
		n := &d.state.Notes()[i]
		e := &d.event
		*e = Event{Type: noteTypes[n.Kind], Time: now, Step: n.Step, Attempt: n.Task.Attempt, Finally: n.Finally}
		e.setPlace(&n.Place, -1)
		d.fillEvent(n, at)
		d.emitEvent()
	}
}

// warnAboutElements warns about elements that failed, if there is no sink.
func (d *driver) warnAboutElements() {
	if d.opts.Warn == nil {
		return
	}
	notes := d.state.Notes()
	for i := range notes {
		if n := &notes[i]; n.Kind == machine.NoteNodeEmitted && n.Failure != nil {
			d.passWarning(&Event{Node: nodePath(&n.Place), Said: emitContent(nil, d.mask.MaskFailure(n.Failure))})
		}
	}
}

// learnSecretValues masks values that nodes have written to secret keys, before anything is emitted.
func (d *driver) learnSecretValues() {
	for _, value := range d.state.SecretValues() {
		d.mask.LearnValue(value)
	}
}

// noteTypes are the event types of notes.
var noteTypes = [...]EventType{
	machine.NoteNodeStarted: NodeStarted, machine.NoteNodeRetrying: NodeRetrying, machine.NoteNodeCompleted: NodeCompleted,
	machine.NoteNodeFailed: NodeFailed, machine.NoteNodeEmitted: NodeEvent, machine.NoteElementEnded: NodeEvent,
	machine.NoteAsked: NodeEvent, machine.NoteReminded: NodeEvent, machine.NoteAnswered: NodeEvent, machine.NoteJoinDropped: NodeEvent,
	machine.NoteEdgesResolved: EdgesResolved, machine.NoteStateUpdated: StateUpdated,
	machine.NoteBranchesStarted: BranchesStarted, machine.NoteBranchesJoined: BranchesJoined,
}

// emitContent returns the content of a node's `emit`, or a warning about a failed element.
func emitContent(data any, failure *Failure) *Said {
	if failure != nil {
		return &Said{Type: "warning", Message: failure.Kind + ": " + failure.Message + "; the other elements go on"}
	}
	return &Said{Type: "custom", Name: "emit", Data: data}
}

// droppedJoinContent returns the content of the event of a join that too few branches can still reach.
func droppedJoinContent(n *machine.Note) *Said {
	failed, _ := n.Failure.Details["failed"].([]any)
	names := make([]string, len(failed))
	for i, name := range failed {
		names[i] = strconv.Quote(name.(string))
	}
	message := "too few branches can still arrive"
	if len(names) > 0 {
		message = strings.Join(names, " and ") + " failed and can't reach it any more"
	}
	return &Said{Type: "dropped", Message: message, Data: n.Failure.Details}
}

// elementContent returns the content of the event of an element that has ended.
func elementContent(n *machine.Note) *Said {
	e, outcome := n.Element, "success"
	if n.Failure != nil {
		outcome = "failure"
	}
	return &Said{Type: "element", Data: map[string]any{
		"index": e.Index, "item": e.Item, "outcome": outcome, "done": e.Done, "failed": e.Failed, "total": e.Total,
	}}
}

// fillEvent sets the fields of the current event from a note.
func (d *driver) fillEvent(n *machine.Note, at int64) {
	e := &d.event
	switch n.Kind {
	case machine.NoteBranchesStarted:
		e.Next = qualifyPaths(n.Scope, n.Targets)
	case machine.NoteBranchesJoined:
		e.From = qualifyPaths(n.Scope, n.Targets)
	case machine.NoteNodeStarted:
		e.Kind = n.NodeKind
	case machine.NoteNodeRetrying:
		e.Error, e.MaxAttempts = d.mask.MaskFailure(n.Failure), n.Retry.MaxAttempts
		e.NextDelay, e.AskedDelay = n.Retry.Delay, n.Retry.Asked
	case machine.NoteNodeCompleted:
		e.Kind, e.Duration = n.NodeKind, time.Duration(max(0, at-n.Began))
		e.Output, e.Cached, e.Skipped = d.mask.MaskValue(n.Output), n.Cached, n.Skipped
	case machine.NoteNodeFailed:
		e.Kind, e.Duration = n.NodeKind, time.Duration(max(0, at-n.Began))
		e.Error = d.mask.MaskFailure(n.Failure)
	case machine.NoteNodeEmitted:
		e.Said = emitContent(d.mask.MaskValue(n.Output), d.mask.MaskFailure(n.Failure))
	case machine.NoteJoinDropped:
		e.Said = droppedJoinContent(n)
	case machine.NoteElementEnded:
		e.Said = elementContent(n)
		e.Said.Data = d.mask.MaskValue(e.Said.Data)
	case machine.NoteAsked, machine.NoteReminded, machine.NoteAnswered:
		e.Said = d.questionContent(n)
	case machine.NoteEdgesResolved:
		e.Output, e.Next, e.Candidates = d.mask.MaskValue(n.Output), qualifyPaths(n.Scope, n.Targets), d.mask.MaskCandidates(n.Candidates)
		e.MaxSteps = d.state.MaxSteps()
	case machine.NoteStateUpdated:
		e.Delta = d.mask.MaskDelta(d.findGraph(n.Scope), n.Delta)
	}
}

func qualifyPaths(scope string, nodes []string) []string {
	if scope == "" {
		return nodes
	}
	out := make([]string, len(nodes))
	for i, node := range nodes {
		if out[i] = node; node != spec.END {
			out[i] = withoutElements(scope) + "/" + node
		}
	}
	return out
}

func (d *driver) findGraph(scope string) *spec.Graph {
	if sc := d.state.Scope(scope); sc != nil {
		return sc.Plan().Graph
	}
	return d.plan.Graph
}

// recordHistory adds the notes of the last event to the history.
func (d *driver) recordHistory(at int64) {
	notes := d.state.Notes()
	for i := range notes {
		if notes[i].Scope == "" {
			d.recordInHistory(&notes[i], at)
		}
	}
}

// recordInHistory adds an execution to the history, and its edges when they are resolved.
func (d *driver) recordInHistory(n *machine.Note, at int64) {
	switch n.Kind {
	case machine.NoteNodeCompleted, machine.NoteNodeFailed:
		record := view.HistoryRecord{
			Step: n.Step, Node: n.Node, Visit: n.Visit, Outcome: "success", Output: d.mask.MaskValue(n.Output), Finally: n.Finally,
			Edges: []int{}, Next: []string{}, Duration: view.Milliseconds(max(0, at-n.Began)), Reason: d.state.ReasonOf(n.Node),
		}
		if n.Kind == machine.NoteNodeFailed {
			record.Outcome, record.Error = "failure", d.mask.MaskFailure(n.Failure)
		}
		if record.Step > 0 || record.Finally {
			d.history = append(d.history, record)
		}
	case machine.NoteEdgesResolved:
		for i := len(d.history) - 1; i >= 0; i-- {
			record := &d.history[i]
			if record.Step != n.Step {
				continue
			}
			record.Next = append(record.Next, n.Targets...)
			for _, c := range n.Candidates {
				if c.Fired && c.Edge >= 0 {
					record.Edges = append(record.Edges, c.Edge)
				}
			}
			slices.Sort(record.Edges)
			return
		}
	}
}

// emitToolCall emits a tool call, if the event is a note about one.
func (d *driver) emitToolCall(event *machine.Event) {
	fields, _ := event.Output.(map[string]any)
	note, _ := fields[handler.NoteToolCall].(map[string]any)
	name, _ := note["name"].(string)
	if name == "" {
		return
	}
	data := map[string]any{}
	for _, key := range [...]string{"id", "args", "is_error", "duration_ms"} {
		if value, has := note[key]; has {
			data[key] = value
		}
	}
	data["output"] = eval.ShortenURIs(note["output"])
	d.beginEvent(ToolCalled, event.At, event.Task)
	d.event.Said = &Said{Type: "tool", Name: d.mask.MaskText(name), Data: d.mask.MaskValue(data)}
	d.emitEvent()
}

// emitSpoken emits the messages that a finished task added to the conversation.
func (d *driver) emitSpoken(event *machine.Event) {
	sink, wants := d.opts.Sink.(view.ConversationSink)
	if !wants || event.Talk == nil || d.sinkErr != nil {
		return
	}
	place := d.places[event.Task]
	out := &view.Spoken{
		Node: nodePath(&place), Place: placePath(&place, event.Task.Element-1), Visit: place.Visit, Attempt: event.Task.Attempt,
		Dropped: event.Talk.Drop, Messages: []machine.Message{},
	}
	add := func(m handler.Message) {
		m.Thinking = nil
		out.Messages = append(out.Messages, d.mask.MaskMessage(m))
	}
	if event.Talk.Summary != nil {
		add(*event.Talk.Summary)
	}
	for _, m := range event.Talk.Add {
		add(m)
	}
	if len(out.Messages) > 0 {
		d.sinkErr = sink.Spoken(out)
	}
}

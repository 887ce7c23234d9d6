// Events of calls of tools, and the conversation, from the journal.

package runner

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// emitToolCall emits a call of a tool, if the event notes one.
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
	data["output"] = eval.Brief(note["output"])
	d.beginEvent(ToolCalled, event.At, event.Task)
	d.event.Said = &Said{Type: "tool", Name: d.mask.Text(name), Data: d.mask.Value(data)}
	d.emit()
}

// emitSpoken emits what a task that has ended added to the conversation.
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
		out.Messages = append(out.Messages, d.mask.Message(m))
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

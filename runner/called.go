// Calls of tools: told from the notes that keep their results, live and from the journal
// alike.

package runner

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// NoteToolCall is the key of the note (see Task.Note) in which a task keeps what a call of
// a tool came to: an object of output and is_error, of what else the task needs to go on,
// and, for the event tool_called, of name, args, duration_ms in milliseconds and, if the
// call has one, id. A note without a name is not told.
const NoteToolCall = "tool_call"

// tellCalled tells of a call of a tool, if the event notes one.
func (d *driver) tellCalled(event *machine.Event) {
	fields, _ := event.Output.(map[string]any)
	note, _ := fields[NoteToolCall].(map[string]any)
	name, _ := note["name"].(string)
	if name == "" || !d.tells() {
		return
	}
	data := map[string]any{}
	for _, key := range [...]string{"id", "args", "is_error", "duration_ms"} {
		if value, has := note[key]; has {
			data[key] = value
		}
	}
	data["output"] = eval.Brief(note["output"])
	d.eventOf(ToolCalled, event.At, event.Task)
	d.event.Said = &Said{Type: "tool", Name: d.mask.Text(name), Data: d.mask.Value(data)}
	d.emit()
}

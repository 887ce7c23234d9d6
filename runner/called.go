// Calls of tools: told from the notes that keep their results, live and from the journal
// alike.

package runner

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// tellCalled tells of a call of a tool, if the event notes one.
func (d *driver) tellCalled(event *machine.Event) {
	fields, _ := event.Output.(map[string]any)
	note, _ := fields[handler.NoteToolCall].(map[string]any)
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

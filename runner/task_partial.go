// What running tasks have produced so far.

package runner

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// storePartial sends the driver what a task has produced. It drops data that is not plain.
func (d *driver) storePartial(task machine.TaskID, data any) {
	if plain, err := eval.Canonical(data); err == nil && plain != nil {
		d.sendMessage(func() *machine.Event {
			d.partials[task] = plain
			return nil
		})
	}
}

// addPartial adds the partial output or text of a failed task to its end.
func (d *driver) addPartial(event *machine.Event) {
	partial := d.partials[event.Task]
	if text := d.texts[event.Task].text; partial == nil && len(text) > 0 {
		partial = string(text)
	}
	if event.Failure != nil && event.Partial == nil {
		event.Partial = partial
	}
	delete(d.partials, event.Task)
	delete(d.texts, event.Task)
}

// What running tasks have produced so far.

package runner

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// storePartial sends what a task has produced to the driver, from the goroutine of the task.
// Data that is not plain is dropped: people only look at it, and the task must go on.
func (d *driver) storePartial(task machine.TaskID, data any) {
	if plain, err := eval.Canonical(data); err == nil && plain != nil {
		d.send(func() *machine.Event {
			d.partials[task] = plain
			return nil
		})
	}
}

// addPartial puts what a task that was cancelled or failed had produced, or else
// what it had said, into its end.
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

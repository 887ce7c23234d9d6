// Notes and partial outputs of running tasks.

package runner

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// errRunOver means that a task sent a note after the end of the run.
var errRunOver = errors.New("the run is over")

// sendNote sends a note to the driver and waits until it is durable. The note has at most limit bytes,
// unless limit is 0. It runs in the goroutine of the task.
func (d *driver) sendNote(task machine.TaskID, data any, call *handler.Usage, limit machine.ValueLimit) error {
	plain, err := eval.Canonical(data)
	if err != nil {
		return fmt.Errorf("a note is not plain data: %w", err)
	}
	if limit > 0 {
		if failure := limit.Check(plain, "a note"); failure != nil {
			return failure
		}
	}
	event := machine.Event{Kind: machine.TaskNoted, At: d.now(), Task: task, Output: plain, Usage: call}
	kept := make(chan error, 1)
	d.sendMessage(func() *machine.Event {
		if _, _, d.journalErr = d.storeThenApply(&event); d.journalErr == nil {
			d.emitUsage(&event)
			d.emitToolCall(&event)
		}
		kept <- d.journalErr
		return nil
	})
	if d.host != nil { // the host stores the note before the task continues
		return nil
	}
	select {
	case err := <-kept:
		return err
	case <-d.done:
		return errRunOver
	}
}

// storePartial sends the partial output of a task to the driver. It drops data that is not plain.
func (d *driver) storePartial(task machine.TaskID, data any) {
	if plain, err := eval.Canonical(data); err == nil && plain != nil {
		d.sendMessage(func() *machine.Event {
			d.partials[task] = plain
			return nil
		})
	}
}

// addPartial adds the partial output or text of a failed task to the event that ends it.
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

// Notes of running tasks: durable before the task goes on.

package runner

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// errRunOver says that a note came after the run's end.
var errRunOver = errors.New("the run is over")

// sendNote hands a note to the driver and waits until it is durable. It runs
// in the goroutine of the task.
func (d *driver) sendNote(task machine.TaskID, data any, call *handler.Usage) error {
	return d.sendNoted(machine.Event{Task: task, Output: data, Usage: call})
}

// noteWithin is sendNote of a note that may be no larger than any value.
func (d *driver) noteWithin(limit machine.ValueLimit, task machine.TaskID, data any) error {
	plain, err := eval.Canonical(data)
	if err != nil {
		return fmt.Errorf("a note is no plain data: %w", err)
	}
	if failure := limit.Check(plain, "a note"); failure != nil {
		return failure
	}
	return d.sendNote(task, plain, nil)
}

// sendNoted is sendNote for an event that says more.
func (d *driver) sendNoted(event machine.Event) error {
	plain, err := eval.Canonical(event.Output)
	if err != nil {
		return fmt.Errorf("a note is no plain data: %w", err)
	}
	event.Kind, event.At, event.Output = machine.TaskNoted, d.now(), plain
	kept := make(chan error, 1)
	d.send(func() *machine.Event {
		d.note(&event)
		kept <- d.journalErr
		return nil
	})
	if d.host != nil { // which keeps it before the task goes on
		return nil
	}
	select {
	case err := <-kept:
		return err
	case <-d.done:
		return errRunOver
	}
}

// note makes a note durable.
func (d *driver) note(event *machine.Event) {
	if _, _, d.journalErr = d.apply(event); d.journalErr == nil {
		d.emitUsage(event)
		d.emitToolCall(event)
	}
}

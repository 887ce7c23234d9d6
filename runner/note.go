// Notes of running tasks: durable before the task goes on.

package runner

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// errRunOver says that a note came after the run's end.
var errRunOver = errors.New("the run is over")

// sendNote hands a note to the driver and waits until it is durable. It runs
// in the goroutine of the task.
func (d *driver) sendNote(task machine.TaskID, data any, call *CallUsage) error {
	plain, err := eval.Canonical(data)
	if err != nil {
		return fmt.Errorf("a note is no plain data: %w", err)
	}
	kept := make(chan error, 1)
	d.send(message{kept: kept, event: machine.Event{
		Kind: machine.TaskNoted, At: d.clock.Now().UnixNano(), Task: task, Output: plain, Usage: call,
	}})
	select {
	case err := <-kept:
		return err
	case <-d.done:
		return errRunOver
	}
}

// note keeps a note and tells the task.
func (d *driver) note(m *message) {
	_, _, err := d.apply(&m.event)
	d.journalErr = err
	if err == nil {
		d.spent(m)
	}
	m.kept <- err
}

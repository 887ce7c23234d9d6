// Timers of a run, and the end of tasks that are cancelled.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// grace is how long a cancelled handler may take before the run goes on
// without it.
const grace = 6 * time.Second

func (d *driver) startTimer(c *machine.Command) {
	id := timerID{c.Timer, c.Task}
	event := machine.Event{Kind: machine.TimerFired, Task: id.task, Timer: id.kind}
	if c.Timer == machine.AnswerTimer {
		event.Target = d.nested.target(&machine.Question{Task: c.Task})
	}
	fire := func() {
		event.At = d.now()
		d.send(message{event: event})
	}
	if d.nested != nil && c.Timer == machine.AnswerTimer {
		tell, question := fire, d.outerID(&machine.Question{Task: c.Task})
		fire = func() { d.outermost().claims.TimeOver(question, tell) }
	}
	wait := c.For
	if (c.Timer == machine.RetryTimer || c.Timer == machine.WaitTimer) && d.outermost().opts.Rush {
		wait = 0
	}
	d.timers[id] = d.clock.AfterFunc(wait, fire)
}

func (d *driver) stopTimer(id timerID) {
	if stop := d.timers[id]; stop != nil {
		stop()
		delete(d.timers, id)
	}
}

// cancelTask cancels a handler. One that does not return in time is given up.
func (d *driver) cancelTask(task machine.TaskID) {
	if cancel := d.cancel[task]; cancel != nil {
		cancel()
	}
	stop := d.clock.AfterFunc(grace, func() {
		d.send(message{event: machine.Event{
			Kind: machine.TaskEnded, At: d.now(), Task: task,
			Failure: &Failure{Kind: "cancelled", Message: "the handler did not stop when it was cancelled"},
		}})
	})
	d.timers[timerID{"grace", task}] = stop
}

// stop releases what still waits for the driver.
func (d *driver) stop() {
	close(d.done)
	d.drain()
	for _, cancel := range d.cancel {
		cancel()
	}
	for _, cancel := range d.asked {
		cancel()
	}
	for _, stop := range d.timers {
		stop()
	}
}

// clockOf is the clock of a run: that of the run around it, its own, the runner's.
func (f *Flow) clockOf(opts *Options, nested *nesting) Clock {
	switch {
	case nested != nil:
		return nested.parent.clock
	case opts.Clock != nil:
		return opts.Clock
	}
	return f.runner.cfg.Clock
}

// Messages to the driver from other goroutines.

package runner

import "github.com/graphrun/graphrun/runner/machine"

// message is a function that the driver calls. It returns an event to apply, or nil.
type message func() *machine.Event

// receiveEvent returns the next event, or nil after a message without an event.
func (d *driver) receiveEvent() *machine.Event {
	if len(d.queue) > 0 {
		event := d.queue[0]
		d.queue = d.queue[1:]
		return &event
	}
	if len(d.offers) > 0 {
		return d.settleOffer()
	}
	if d.advanceDue && d.countMessages() == 0 {
		d.advanceDue = false
		return &machine.Event{Kind: machine.Advanced, At: d.now()}
	}
	return d.nextMessage()()
}

// sendMessage sends a message to the driver. After the end of the run it drops the message.
func (d *driver) sendMessage(m message) {
	if d.host != nil {
		d.arrived = append(d.arrived, m)
		return
	}
	select {
	case d.inbox <- m:
	case <-d.done:
	}
}

func (d *driver) sendEvent(event machine.Event) {
	d.sendMessage(func() *machine.Event {
		d.forgetEnded(&event)
		return &event
	})
}

// forgetEnded drops the data of a fired timer or an ended task. It adds the partial output to the event.
func (d *driver) forgetEnded(event *machine.Event) {
	if event.Kind == machine.TimerFired {
		delete(d.timers, timerID{event.Timer, event.Task, event.Fan, event.Lane})
	}
	if event.Kind != machine.TaskEnded {
		return
	}
	delete(d.cancel, event.Task)
	delete(d.graphCalls, event.Task)
	for call := range d.calls { //lint:ignore mapiter entries are independent
		if call.task == event.Task {
			delete(d.calls, call)
		}
	}
	d.stopTimer(timerID{kind: "grace", task: event.Task})
	d.addPartial(event)
	d.emitTail(event.Task)
	delete(d.places, event.Task)
}

// countMessages returns the number of messages that have arrived.
func (d *driver) countMessages() int { return len(d.inbox) + len(d.arrived) }

func (d *driver) nextMessage() message {
	if d.host != nil {
		if err := d.host.Wait(func() bool { return len(d.arrived) > 0 }); err != nil {
			d.journalErr = err
			return func() *machine.Event { return nil }
		}
		m := d.arrived[0]
		d.arrived = d.arrived[1:]
		return m
	}
	for {
		var again <-chan struct{}
		if d.virtualClock != nil {
			again = d.virtualClock.RunNext(func() bool { return len(d.inbox) > 0 || d.isCancelling() })
		}
		select {
		case m := <-d.inbox:
			return m
		case <-again:
		}
	}
}

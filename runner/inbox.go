// Messages to the driver from other goroutines.

package runner

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// message is what the other goroutines send the driver: an event, or something that a
// running node said.
type message struct {
	event machine.Event
	task  machine.TaskID
	said  *Said
	// partial is what the task has produced so far.
	partial any
	learn   []string // texts to mask from now on
	// kept is told when the event, a note, is durable.
	kept chan<- error
	// call asks for a graph; it is told the result.
	call *openCall
	// asked is a question that a person is not being asked any more: they answered, with
	// event, or nobody can be asked.
	asked    *asking
	answered bool
	// offer is what somebody answers from elsewhere.
	offer *store.Offer
}

// receive returns the next event, or nil after another message.
func (d *driver) receive() *machine.Event {
	if len(d.queue) > 0 {
		event := d.queue[0]
		d.queue = d.queue[1:]
		return &event
	}
	if len(d.offers) > 0 {
		return d.settleOffer()
	}
	if d.due && d.waiting() == 0 {
		d.due = false
		return &machine.Event{Kind: machine.Advanced, At: d.now()}
	}
	return d.handle(d.next())
}

// handle handles a message. It returns its event, if it has one.
func (d *driver) handle(m *message) *machine.Event {
	switch {
	case m.said != nil:
		d.said(m)
	case m.partial != nil:
		d.partials[m.task] = m.partial
	case m.asked != nil:
		delete(d.asked, *m.asked)
		if m.answered {
			return &m.event
		}
	case m.offer != nil:
		d.offers = append(d.offers, *m.offer)
	case m.kept != nil:
		d.note(m)
	case m.call != nil:
		d.calls[graphCall{m.event.Task, m.event.Call}] = m.call
		return &m.event
	case m.learn != nil:
		for _, text := range m.learn {
			d.mask.HideText(text)
		}
	default:
		d.forget(&m.event)
		return &m.event
	}
	return nil
}

// forget drops what the driver kept for a task that has ended. The end of one that failed or
// was cancelled gets what it had said.
func (d *driver) forget(event *machine.Event) {
	if event.Kind == machine.TimerFired {
		delete(d.timers, timerID{event.Timer, event.Task, event.Fan, event.Lane})
	}
	if event.Kind != machine.TaskEnded {
		return
	}
	delete(d.cancel, event.Task)
	delete(d.beside, event.Task)
	for call := range d.calls { //lint:ignore mapiter each by itself
		if call.task == event.Task {
			delete(d.calls, call)
		}
	}
	d.stopTimer(timerID{kind: "grace", task: event.Task})
	d.addPartial(event)
	d.emitTail(event.Task)
	delete(d.places, event.Task)
}

// send sends the driver a message. After the end of the run it is dropped.
func (d *driver) send(m message) {
	if d.host != nil {
		d.arrived = append(d.arrived, &m)
		return
	}
	d.pace.Hold() // until the driver has taken it
	select {
	case d.inbox <- &m:
	case <-d.done:
		d.pace.Release()
		return
	}
	if d.pace == nil {
		return
	}
	select {
	case <-d.done:
		d.drain()
	default:
	}
}

// waiting returns the number of messages that have arrived.
func (d *driver) waiting() int { return len(d.inbox) + len(d.arrived) }

// next waits for the next message.
func (d *driver) next() *message {
	if d.host != nil {
		if err := d.host.Wait(func() bool { return len(d.arrived) > 0 }); err != nil {
			d.journalErr = err
			return &message{learn: []string{}}
		}
		m := d.arrived[0]
		d.arrived = d.arrived[1:]
		return m
	}
	select {
	case m := <-d.inbox:
		d.pace.Release()
		return m
	default:
	}
	d.pace.Release()
	return <-d.inbox // its sender counts as busy for the driver
}

// drain drops what nobody will take any more.
func (d *driver) drain() {
	for d.pace != nil {
		select {
		case <-d.inbox:
			d.pace.Release()
		default:
			return
		}
	}
}

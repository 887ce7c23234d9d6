// What the other goroutines tell the driver.

package runner

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// message is what the other goroutines send the driver: an event, or
// something that a running node said.
type message struct {
	event machine.Event
	task  machine.TaskID
	said  *Said
	// partial is what the task has produced so far.
	partial any
	child   *Event   // of a subgraph
	learn   []string // texts to mask from now on
	// learned are those of them that secret keys had, to be kept with the state.
	learned []string
	// kept is told when the event, a note, is durable.
	kept chan<- error
	// asked is a question that a person is not being asked any more: they
	// answered, with event, or nobody can be asked.
	asked    *asking
	answered bool
	// offer is what somebody answers from elsewhere; call is what the run around a
	// subgraph wants of it.
	offer *store.Offer
	call  *insideCall
	// resting is the driver of a subgraph that waits, with the end of its task.
	resting *driver
}

// await is receive for a driver that may leave off meanwhile.
func (d *driver) await(due bool) (event *machine.Event, left bool) {
	event = d.receive(due)
	for d.look {
		if d.look = false; d.leavesOff() {
			return nil, true
		}
		event = d.receive(due)
	}
	if event != nil {
		d.nested.goesOn()
	}
	return event, false
}

// receive waits for the next event; what nodes say meanwhile is told. When
// something else is due it does not wait: nil says that nothing was sent.
func (d *driver) receive(due bool) *machine.Event {
	if len(d.queue) > 0 {
		event := d.queue[0]
		d.queue = d.queue[1:]
		return &event
	}
	for !due || len(d.inbox) > 0 || len(d.offers) > 0 {
		if event := d.settleOffers(); event != nil || d.journalErr != nil {
			return event
		}
		if due && len(d.inbox) == 0 {
			return nil
		}
		if d.nested != nil && len(d.inbox) == 0 {
			if !d.flush() {
				return nil
			}
			if !d.nested.waits && d.still() {
				d.look = true
				return nil
			}
			d.askInside()
		}
		event := d.hear(d.next())
		if event != nil || d.journalErr != nil || d.look {
			return event
		}
	}
	return nil
}

// hear takes in a message; it may be an event.
func (d *driver) hear(m *message) *machine.Event {
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
		d.told[*m.asked] = d.nested != nil // the run around it will ask
		if d.state.Status == machine.Paused && d.idle() {
			return &machine.Event{Kind: machine.PauseAsked, At: d.now()}
		}
	case m.offer != nil:
		d.offers = append(d.offers, *m.offer)
	case m.call != nil:
		return d.called(m.call)
	case m.child != nil:
		d.relay(m.child)
	case m.kept != nil:
		d.note(m)
	case m.learn != nil:
		d.mask.HideForms(m.learn)
		for _, text := range m.learned {
			d.mask.LearnValue(text)
		}
	default:
		if m.resting != nil {
			d.resting[m.event.Task] = m.resting
		}
		d.forget(&m.event)
		return &m.event
	}
	return nil
}

// forget drops what was kept of a task that has ended; what one that failed or
// was cancelled had said goes along with its end.
func (d *driver) forget(event *machine.Event) {
	if event.Kind == machine.TimerFired && event.Timer == machine.AnswerTimer {
		d.stopAsking(event.Task)
	}
	if event.Kind == machine.TaskEnded {
		delete(d.cancel, event.Task)
		d.closeBox(event.Task)
		d.stopTimer(timerID{"grace", event.Task})
		d.addPartial(event)
		d.tellTail(event.Task)
	}
}

// send gives the driver a message; after the run's end it is dropped.
func (d *driver) send(m message) {
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

// next waits for the next message.
func (d *driver) next() *message {
	select {
	case m := <-d.inbox:
		d.pace.Release()
		return m
	default:
	}
	d.pace.Release()
	return <-d.inbox // whoever sent it is busy for the driver
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

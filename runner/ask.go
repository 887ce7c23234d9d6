// Asking people.

package runner

import (
	"context"

	"github.com/graphrun/graphrun/runner/machine"
)

// ask answers a question with what was given in advance, or asks a person if
// there is one. Otherwise the run will pause.
func (d *driver) ask(ctx context.Context, q *machine.Question) {
	if given := d.answers[q.Task.Node]; len(given) > 0 {
		value, err := d.state.ParseAnswer(*q, given[0])
		d.answers[q.Task.Node] = given[1:]
		if err != nil {
			d.said(&message{task: q.Task, said: &Said{Type: "warning", Message: err.Error()}})
		} else {
			d.queue = append(d.queue, d.answerEvent(q, value))
			return
		}
	}
	if d.opts.Ask == nil {
		return
	}
	d.asked++
	question := *q
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel[q.Task] = cancel
	go func() {
		defer cancel()
		problem := ""
		for {
			text, err := d.opts.Ask(ctx, d.pendingOf(&question), problem)
			if err != nil {
				d.send(message{gaveUp: true})
				return
			}
			value, err := d.state.ParseAnswer(question, text)
			if err != nil {
				problem = err.Error()
				continue
			}
			d.send(message{event: d.answerEvent(&question, value), gaveUp: true, answered: true})
			return
		}
	}()
}

func (d *driver) answerEvent(q *machine.Question, value any) machine.Event {
	return machine.Event{Kind: machine.Answered, At: d.clock.Now().UnixNano(), Task: q.Task, Output: value}
}

// idle reports whether nothing is on its way that could end a pause.
func (d *driver) idle() bool {
	return len(d.queue) == 0 && len(d.inbox) == 0 && d.asked == 0
}

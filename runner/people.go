// Asking people.

package runner

import (
	"context"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// ask answers a question with what was given in advance, or asks a person if
// there is one. Otherwise the run will pause. People are asked by the run itself:
// a subgraph waits with its questions and the node that runs it asks them.
func (d *driver) ask(ctx context.Context, q *machine.Question) {
	if d.told[asking{q.Task, q.ID}] {
		return
	}
	if text, given := d.answers.Take(d.nested.target(q)); given {
		value, err := q.Parse(text)
		if err != nil {
			d.said(&message{task: q.Task, said: &Said{Type: "warning", Message: err.Error()}})
		} else {
			d.queue = append(d.queue, d.answerEvent(q, value, d.by()))
			return
		}
	}
	if d.opts.Ask != nil {
		d.askPerson(ctx, *q, d.opts.Ask)
	}
}

// askInside asks the people of a subgraph that waits for timers, too, and so does
// not leave its questions to the run around it.
func (d *driver) askInside() {
	outermost := d.outermost()
	if outermost == d || outermost.opts.Ask == nil || d.nested.waits || !d.state.Idle() {
		return
	}
	for _, q := range d.state.Questions() {
		if !d.told[asking{q.Task, q.ID}] {
			d.askPerson(context.Background(), q, outermost.opts.Ask)
		}
	}
}

// asker is Options.Ask.
type asker = func(ctx context.Context, question view.Pending, problem string) (answer string, err error)

// asking is a question that a person is being asked.
type asking struct {
	task     machine.TaskID
	question string
}

// askPerson asks until there is a legal answer, or nobody to ask. A subgraph
// that went on meanwhile may ask once more what is being asked.
func (d *driver) askPerson(ctx context.Context, question machine.Question, ask asker) {
	id := asking{question.Task, question.ID}
	if d.asked[id] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.asked[id] = cancel
	pending := d.pendingOf(&question)
	go func() {
		defer cancel()
		problem := ""
		for {
			text, err := ask(ctx, pending, problem)
			if err != nil {
				d.send(message{asked: &id})
				return
			}
			value, err := question.Parse(text)
			if err != nil {
				problem = err.Error()
				continue
			}
			d.send(message{event: d.answerEvent(&question, value, d.by()), asked: &id, answered: true})
			return
		}
	}()
}

// stopAsking leaves people alone who did not answer in time.
func (d *driver) stopAsking(task machine.TaskID) {
	for id, cancel := range d.asked {
		if id.task == task {
			cancel()
		}
	}
}

// answerEvent is the answer to a question. In a subgraph nobody is named: the run
// around it knows who it was.
func (d *driver) answerEvent(q *machine.Question, value any, by string) machine.Event {
	return machine.Event{
		Kind: machine.Answered, At: d.now(), Task: q.Task, Question: q.ID, Output: value,
		By: by, Target: d.nested.target(q),
	}
}

// by is who answers in advance and when asked.
func (d *driver) by() string { return d.outermost().opts.By }

// outermost is the run that people know.
func (d *driver) outermost() *driver {
	for d.nested != nil {
		d = d.nested.parent
	}
	return d
}

// idle reports whether nothing is on its way that could end a pause.
func (d *driver) idle() bool {
	return len(d.queue) == 0 && len(d.inbox) == 0 && len(d.asked) == 0
}

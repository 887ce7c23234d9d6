// Questions to people.

package runner

import (
	"context"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// questionID identifies an open question.
type questionID struct {
	task     machine.TaskID
	question string
}

// askQuestion takes an answer that was given in advance, or asks a person.
func (d *driver) askQuestion(ctx context.Context, q *machine.Question) {
	if text, given := d.answers.takeAnswer(q.Target()); given {
		value, err := q.Parse(text)
		if err == nil {
			d.queue = append(d.queue, d.answerEvent(q, value, d.opts.By))
			return
		}
		d.emitMasked(q.Task, &Said{Type: "warning", Message: err.Error()})
	}
	if d.opts.Ask != nil {
		d.askPerson(ctx, *q)
	}
}

// askPerson asks a person in a goroutine, until there is a valid answer or Ask fails.
func (d *driver) askPerson(ctx context.Context, question machine.Question) {
	id := questionID{question.Task, question.ID}
	if d.asked[id] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.asked[id] = cancel
	pending := d.newPending(&question)
	go func() {
		defer cancel()
		value, err := d.askUntilValid(ctx, &question, pending)
		d.sendMessage(func() *machine.Event {
			delete(d.asked, id)
			if err != nil {
				return nil
			}
			event := d.answerEvent(&question, value, d.opts.By)
			return &event
		})
	}()
}

// askUntilValid asks until an answer is valid, and returns its value.
func (d *driver) askUntilValid(ctx context.Context, q *machine.Question, pending view.Pending) (any, error) {
	for problem := ""; ; {
		text, err := d.opts.Ask(ctx, pending, problem)
		if err != nil {
			return nil, err
		}
		value, err := q.Parse(text)
		if err == nil {
			return value, nil
		}
		problem = err.Error()
	}
}

// stopAsking cancels the call of Options.Ask for a question.
func (d *driver) stopAsking(id questionID) {
	if cancel := d.asked[id]; cancel != nil {
		cancel()
	}
}

func (d *driver) answerEvent(q *machine.Question, value any, by string) machine.Event {
	return machine.Event{Kind: machine.Answered, At: d.now(), Task: q.Task, Question: q.ID, Output: value, By: by, Target: q.Target()}
}

// newPending returns a question in the form that people see.
func (d *driver) newPending(q *machine.Question) view.Pending {
	node := machine.Question{Place: q.Place}
	p := view.Pending{Node: node.Target(), Kind: "human", Prompt: d.mask.MaskText(q.Prompt), Schema: q.Schema, Due: timeOrNil(q.Until)}
	p.Fields = d.flow.tree.FieldOrder(p.Node)
	if q.Key != "" {
		p.Key, p.Kind = &q.Key, "interrupt"
	}
	if call := q.Tool; call != nil {
		p.Kind, p.Name = "tool", call.Name
		p.Args, _ = d.mask.MaskValue(call.Args).(map[string]any)
	}
	if i := q.Index(); i >= 0 {
		p.Index = &i
	}
	return p
}

// questionContent returns the content of the event of a question, a reminder or an answer.
func (d *driver) questionContent(n *machine.Note) *Said {
	pending := d.newPending(n.Question)
	kinds := map[machine.NoteKind]string{machine.NoteAsked: "question", machine.NoteReminded: "reminder", machine.NoteAnswered: "answer"}
	return &Said{Type: kinds[n.Kind], Question: &pending, Name: n.By}
}

// A driver takes the answers that others offer.

package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// insideCall is what a run wants of a subgraph in it: a pause, to take an answer, or
// to look whether it is to wait for people any longer.
type insideCall struct {
	pause    bool
	look     bool
	question string
	answer   any
	by       string
}

// callInside hands a call to the subgraph that a task runs. When its box is full it
// is as good as gone: an answer is found again when it asks.
func (d *driver) callInside(task machine.TaskID, call insideCall) {
	d.pace.Hold() // until it is passed on
	select {
	case d.inside[task] <- call:
	default:
		d.pace.Release()
	}
}

// closeBox drops what was not passed on to a subgraph before it ended.
func (d *driver) closeBox(task machine.TaskID) {
	for d.pace != nil && len(d.inside[task]) > 0 {
		select {
		case <-d.inside[task]:
			d.pace.Release()
		default:
		}
	}
	delete(d.inside, task)
}

// called does what the run around a subgraph wants.
func (d *driver) called(call *insideCall) *machine.Event {
	if call.look {
		d.look = true
		return nil
	}
	if call.pause {
		return &machine.Event{Kind: machine.PauseAsked, At: d.now()}
	}
	open, _, err := d.questions()
	for i := range open {
		if q := &open[i]; err == nil && answers.IDOf(q) == call.question {
			event := d.answerEvent(q, call.answer, call.by)
			return &event
		}
	}
	node, _, _ := strings.Cut(call.question, "#")
	d.unused(machine.TaskID{Node: node}, d.nested.inTarget(node), call.by)
	return nil
}

// settleOffers takes or refuses what others answer, one offer after the other. An
// event that it returns is in the journal already.
func (d *driver) settleOffers() *machine.Event {
	for len(d.offers) > 0 {
		offer := d.offers[0]
		d.offers = d.offers[1:]
		events, err := d.accept(offer.Answers, offer.By)
		refused := ""
		if err != nil {
			refused = err.Error()
		}
		taken, err := d.journal.Settle(offer.ID, events, refused)
		if !taken {
			d.giveBack(events)
		}
		if err != nil {
			d.journalErr = d.journalFailed(err)
			return nil
		}
		if !taken {
			continue
		}
		d.saved.events += len(events)
		d.queue, d.durable = append(slices.Clone(events[1:]), d.queue...), len(events)
		for i := range events {
			d.answeredElsewhere(&events[i])
		}
		return &events[0]
	}
	return nil
}

// answeredElsewhere leaves the person alone who is being asked what somebody else has
// answered.
func (d *driver) answeredElsewhere(e *machine.Event) {
	if cancel := d.asked[asking{e.Task, e.Question}]; cancel != nil {
		cancel()
	}
}

// accept turns answers into events, all of them or none: each is for the first open
// question of its name that none before it is for. The error says in a line each
// what is wrong with them.
func (d *driver) accept(offered []store.GivenAnswer, by string) ([]machine.Event, error) {
	open, _, err := d.questions()
	if err != nil {
		return nil, err
	}
	var events []machine.Event
	var problems []string
	for _, given := range offered {
		i := answers.Find(open, given.Target)
		if i < 0 {
			problems = append(problems, d.unasked(given.Target, open).Error())
			continue
		}
		value, err := open[i].Parse(given.Text)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if inside := open[i].Node != ""; inside && !d.claims.Answer(d.outerID(&open[i])) {
			problems = append(problems, fmt.Sprintf("%q was answered by nobody: its time is over", open[i].Target()))
			continue
		}
		event := d.answerEvent(&open[i], value, by)
		d.vault.Event(&event)
		events = append(events, event)
		open = slices.Delete(open, i, i+1)
	}
	if len(problems) > 0 || len(events) == 0 {
		d.giveBack(events)
		return nil, &InputError{Problems: problems}
	}
	return events, nil
}

// giveBack leaves the questions alone that answers were for which are not taken.
func (d *driver) giveBack(given []machine.Event) {
	for i := range given {
		d.claims.GiveBack(d.outerID(&machine.Question{Task: given[i].Task, Ask: machine.Ask{ID: given[i].Question}}))
	}
}

// unasked says why an answer is for no open question.
func (d *driver) unasked(target string, open []machine.Question) error {
	if _, err := d.flow.tree.CheckTarget(target); err != nil {
		return fmt.Errorf("answer for %q: %w", target, err)
	}
	if text := d.whoAnswered(target); text != "" {
		return fmt.Errorf("%s", text)
	}
	switch {
	case d.state.Ended():
		return fmt.Errorf("answer for %q: run %q has ended (%s) and asks nothing", target, d.opts.RunID, d.state.Status)
	case len(open) == 0:
		return fmt.Errorf("answer for %q: run %q asks nothing now", target, d.opts.RunID)
	}
	names := make([]string, len(open))
	for i := range open {
		names[i] = open[i].Target()
	}
	return fmt.Errorf("answer for %q: run %q does not ask that now; it asks: %s", target, d.opts.RunID, strings.Join(names, ", "))
}

// outerID tells a question of the run apart from all others of the outermost run.
func (d *driver) outerID(q *machine.Question) string {
	for n := d.nested; n != nil; n = n.parent.nested {
		q = &machine.Question{Task: n.task, Ask: machine.Ask{ID: n.askID(q)}}
	}
	return answers.IDOf(q)
}

// unused says that an answer was of no use: what asked for it had ended meanwhile.
func (d *driver) unused(task machine.TaskID, target, by string) {
	if by != "" {
		by = " of " + by
	}
	d.said(&message{task: task, said: &Said{
		Type: "warning", Message: "the answer" + by + " for " + strconv.Quote(target) + " was not used: what asked for it had ended",
	}})
}

// Questions of running tasks (GraphSpec §4).

package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/runner/machine"
)

// Question is what a running task asks a person.
type Question struct {
	// Key tells the questions of a task apart; an answer names it: NODE:KEY=VALUE.
	Key    string
	Prompt string
	// Schema is a JSON Schema that says which answers are legal; nil: any text.
	Schema map[string]any
	// Tool is the call that is to be approved; nil: the question is another.
	Tool *ToolAsk
}

// ToolAsk is a call of a tool that waits for approval.
type ToolAsk = machine.ToolAsk

// Check reports a question that can't be asked: one without a key, or with a
// schema that is none.
func (q *Question) Check() error {
	if q.Key == "" {
		return fmt.Errorf("a question has no key")
	}
	if q.Schema == nil {
		return nil
	}
	if _, err := schema.Compile(q.Schema); err != nil {
		return fmt.Errorf("question %q: schema of the answer: %w", q.Key, err)
	}
	return nil
}

// Interrupt returns the answer to a question that the task asks. When there is
// none yet it returns an error that the handler must return, having stopped what
// it does: the task waits without running until a person has answered, and runs
// again, as the same attempt. It is no failure, and no retry.
func (t *Task) Interrupt(question Question) (answer any, err error) {
	answers, err := t.InterruptAll(question)
	return answers[question.Key], err
}

// InterruptAll is Interrupt for several questions, which may be answered in any
// order. It returns the answers to all of them, by key, or an error that the
// handler must return.
func (t *Task) InterruptAll(questions ...Question) (answers map[string]any, err error) {
	parked := &Parked{}
	for i := range questions {
		q := &questions[i]
		if _, answered := t.Answers[q.Key]; answered {
			continue
		}
		if err := q.Check(); err != nil {
			return nil, &Failure{Kind: "invalid_input", Message: err.Error()}
		}
		parked.Asks = append(parked.Asks, machine.Ask{ID: t.part + q.Key, Key: q.Key, Prompt: q.Prompt, Schema: q.Schema, Tool: q.Tool})
	}
	if len(parked.Asks) > 0 {
		return nil, parked
	}
	return t.Answers, nil
}

// Part is the task as one part of its work has it: the questions that the part
// asks are told apart from those of others, and Answers holds its own.
func (t *Task) Part(name string) *Task {
	own := *t
	own.part = t.part + name + ":"
	own.Answers = map[string]any{}
	for id, answer := range t.Answers {
		if rest, ours := strings.CutPrefix(id, name+":"); ours {
			own.Answers[rest] = answer
		}
	}
	return &own
}

// Parked is the error of a task that waits for people.
type Parked struct{ machine.Parking }

// Error is for handlers that look at their error.
func (p *Parked) Error() string { return "the task waits for people" }

// Waits reports whether an error means that a task waits for people: it has not
// failed, and runs again when they have answered.
func Waits(err error) bool {
	var parked *Parked
	return errors.As(err, &parked)
}

// JoinErrors is what errors of calls that a task makes side by side come to: the first
// that means more than waiting, else a wait for the answers to all their questions; nil
// when all are nil.
func JoinErrors(errs ...error) error {
	var all *Parked
	for _, err := range errs {
		var one *Parked
		switch {
		case err == nil:
		case !errors.As(err, &one):
			return err
		case all == nil:
			all = &Parked{one.Parking}
			all.Asks = slices.Clone(one.Asks)
		default:
			all.Asks = append(all.Asks, one.Asks...)
			if all.At == nil {
				all.At = one.At
			}
			if one.Until > 0 && (all.Until == 0 || one.Until < all.Until) {
				all.Until = one.Until
			}
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// Plain is the parking with plain data in it.
func (p *Parked) Plain() (*machine.Parking, error) {
	for i := range p.Asks {
		ask := &p.Asks[i]
		if ask.Schema == nil {
			continue
		}
		plain, err := eval.Canonical(ask.Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of question %q is no plain data: %w", ask.ID, err)
		}
		ask.Schema, _ = plain.(map[string]any)
	}
	return &p.Parking, nil
}

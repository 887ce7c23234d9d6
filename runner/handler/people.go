// Questions of running tasks (GraphSpec §4).

package handler

import (
	"errors"
	"fmt"
	"slices"

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

// Parked is the error with which a task waits for people; runner.Task.Interrupt makes it.
type Parked struct{ Asks []machine.Ask }

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
			all = &Parked{slices.Clone(one.Asks)}
		default:
			all.Asks = append(all.Asks, one.Asks...)
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// Plain returns the questions with plain data in them.
func (p *Parked) Plain() ([]machine.Ask, error) {
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
	return p.Asks, nil
}

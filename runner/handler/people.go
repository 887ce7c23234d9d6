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

// Question is a question of a running task to a person.
type Question struct {
	Key    string // identifies the question in its task: NODE:KEY=VALUE
	Prompt string
	Schema map[string]any // JSON Schema of the answer; nil for any text
	Tool   *ToolAsk       // the call to approve, or nil
}

// Check returns an error for a question without a key or with an invalid schema.
func (q *Question) Check() error {
	if q.Key == "" {
		return fmt.Errorf("a question has no key")
	}
	if _, err := schema.Compile(q.Schema); err != nil {
		return fmt.Errorf("question %q: schema of the answer: %w", q.Key, err)
	}
	return nil
}

// Interrupted is the error of an attempt that needs answers of people. See runner.Task.Interrupt.
type Interrupted struct{ Asks []machine.Ask }

// Error says that the task waits.
func (p *Interrupted) Error() string { return "the task waits for people" }

// IsInterrupted reports whether an error means that a task waits for people and will run again.
func IsInterrupted(err error) bool {
	var interrupted *Interrupted
	return errors.As(err, &interrupted)
}

// JoinErrors joins the errors of concurrent calls. It returns the first real error, else an *Interrupted
// with all questions, else nil.
func JoinErrors(errs ...error) error {
	var all *Interrupted
	for _, err := range errs {
		var one *Interrupted
		switch {
		case err == nil:
		case !errors.As(err, &one):
			return err
		case all == nil:
			all = &Interrupted{slices.Clone(one.Asks)}
		default:
			all.Asks = append(all.Asks, one.Asks...)
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// PlainAsks returns the questions with their schemas as plain data.
func (p *Interrupted) PlainAsks() ([]machine.Ask, error) {
	for i := range p.Asks {
		ask := &p.Asks[i]
		if ask.Schema == nil {
			continue
		}
		plain, err := eval.Canonical(ask.Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of question %q is not plain data: %w", ask.ID, err)
		}
		ask.Schema, _ = plain.(map[string]any)
	}
	return p.Asks, nil
}

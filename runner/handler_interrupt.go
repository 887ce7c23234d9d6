// Questions of running tasks (GraphSpec §4).

package runner

import (
	"strings"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// Interrupt returns the answer to a question. Without one it returns an error, which the handler
// must return at once: the task waits for a person, and then runs again as the same attempt.
func (t *Task) Interrupt(question handler.Question) (answer any, err error) {
	answers, err := t.InterruptAll(question)
	return answers[question.Key], err
}

// InterruptAll is Interrupt for several questions. It returns all answers by key, or the error.
func (t *Task) InterruptAll(questions ...handler.Question) (answers map[string]any, err error) {
	parked := &handler.Parked{}
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

// Part returns the task for a part of its work, with questions and Answers of its own.
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

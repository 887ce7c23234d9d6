// Questions of running tasks (GraphSpec §4).

package runner

import (
	"strings"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// Interrupt returns the answer to a question that the task asks. When there is
// none yet it returns an error that the handler must return, having stopped what
// it does: the task waits without running until a person has answered, and runs
// again, as the same attempt. It is neither a failure nor a retry.
func (t *Task) Interrupt(question handler.Question) (answer any, err error) {
	answers, err := t.InterruptAll(question)
	return answers[question.Key], err
}

// InterruptAll is Interrupt for several questions, which may be answered in any
// order. It returns the answers to all of them, by key, or an error that the
// handler must return.
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

// People: human nodes ask and wait (GraphSpec §4).

package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
)

// Question is what a person is asked.
type Question struct {
	Task   TaskID
	Prompt string
	// Schema says which answers are legal, as plain data: choices are an enum,
	// and without choices and schema the answer is text.
	Schema map[string]any
}

// question is a question that a task waits for.
type question struct {
	prompt     string
	schema     *schema.Schema
	document   map[string]any
	fallback   any
	hasDefault bool
	deadline   int64 // Unix nanoseconds; 0: none
	// answer is what the person said, or the failure of one who did not.
	answer  any
	failure *Failure
}

// ask parks the task until a person has answered.
func (p *Plan) ask(s *State, t *task, n *node) {
	s.setContext(n.uses, t)
	config, err := bind.EvalFields(n.config, &s.vm, s.env)
	if err != nil {
		p.fail(s, t, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	q, failure := newQuestion(config)
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	t.question, t.status = q, asking
	s.waitingTasks++
	s.command(Command{Kind: Ask, Task: s.taskID(t), Question: p.questionOf(s, t)})
	if d := p.nodes[t.node].timeout; d > 0 {
		q.deadline = s.now + int64(d)
		s.command(Command{Kind: StartTimer, Timer: AnswerTimer, Task: s.taskID(t), For: d})
	}
}

func newQuestion(config map[string]any) (*question, *Failure) {
	q := &question{prompt: eval.Text(config["prompt"]), document: map[string]any{"type": "string"}}
	if choices, ok := config["choices"].([]any); ok {
		q.document = map[string]any{"enum": choices}
	} else if document, ok := config["schema"].(map[string]any); ok {
		q.document = document
	}
	compiled, err := schema.Compile(q.document)
	if err != nil {
		return nil, &Failure{Kind: "invalid_input", Message: "schema of the answer: " + err.Error()}
	}
	q.schema = compiled
	q.fallback, q.hasDefault = config["default"]
	return q, nil
}

func (p *Plan) questionOf(s *State, t *task) *Question {
	return &Question{Task: s.taskID(t), Prompt: t.question.prompt, Schema: t.question.document}
}

// Questions lists what people are asked, in declaration order of the branches.
func (s *State) Questions() []Question {
	var out []Question
	for _, list := range [...][]task{s.tasks, s.parked} {
		for i := range list {
			if t := &list[i]; t.status == asking && t.question.answer == nil && t.question.failure == nil {
				out = append(out, *s.plan.questionOf(s, t))
			}
		}
	}
	return out
}

// ParseAnswer turns the text of an answer into a legal value: the text itself,
// or what it means as JSON. The error says which answers are legal.
func (s *State) ParseAnswer(q Question, text string) (any, error) {
	compiled, err := schema.Compile(q.Schema)
	if err != nil {
		return nil, err
	}
	problem := compiled.Check(text)
	if problem == nil {
		return text, nil
	}
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		if value, err := eval.Canonical(value); err == nil {
			value = compiled.Normalise(value)
			if problem = compiled.Check(value); problem == nil {
				return value, nil
			}
		}
	}
	return nil, fmt.Errorf("answer %s for %q is not legal: %w; its schema is %s", strconv.Quote(text), q.Task.Node, problem, compiled)
}

// answered takes a person's answer; one that is not legal, or that nobody asked
// for, changes nothing.
func (p *Plan) answered(s *State, e *Event) {
	p.settleQuestion(s, e.Task, func(q *question) bool {
		value := q.schema.Normalise(e.Output)
		if q.schema.Check(value) != nil {
			return false
		}
		q.answer = value
		return true
	})
}

// unanswered acts on a person who did not answer in time.
func (p *Plan) unanswered(s *State, id TaskID) {
	p.settleQuestion(s, id, func(q *question) bool {
		if q.hasDefault {
			q.answer = q.fallback
		} else {
			q.failure = &Failure{Kind: "timeout", Message: "nobody answered in time, and there is no default"}
		}
		return true
	})
}

// settleQuestion lets the task of a question go on with what settle made of it.
func (p *Plan) settleQuestion(s *State, id TaskID, settle func(*question) bool) {
	waits := func(t *task) bool { return t.status == asking && s.taskID(t) == id }
	for i := range s.tasks {
		if t := &s.tasks[i]; s.open && waits(t) && !t.due {
			t.due = settle(t.question)
			return
		}
	}
	i := slices.IndexFunc(s.parked, func(t task) bool { return waits(&t) })
	if i < 0 || !settle(s.parked[i].question) {
		return
	}
	if s.parked[i].question.deadline > 0 {
		s.command(Command{Kind: StopTimer, Timer: AnswerTimer, Task: id})
	}
	s.next = append(s.next, s.parked[i])
	s.parked = slices.Delete(s.parked, i, i+1)
	s.mixed = true
	if s.Status == Paused && s.Reason == "human" {
		s.setStatus(Running, "")
	}
	if s.live {
		p.resumeIdle(s)
	}
}

// onlyPeople reports whether all that is left waits for people, without a time
// by which they have to answer.
func (s *State) onlyPeople() bool {
	for i := range s.parked {
		if t := &s.parked[i]; t.status != asking || t.question.deadline > 0 {
			return false
		}
	}
	return len(s.parked) > 0
}

// remaining is how long from now until a moment; none when it has passed.
func (s *State) remaining(moment int64) time.Duration {
	return time.Duration(max(0, moment-s.now))
}

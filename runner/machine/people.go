// People: human nodes and programs ask, and wait (GraphSpec §4).

package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/given"
	"github.com/graphrun/graphrun/internal/schema"
)

// Asked is a question of a unit, and its answer.
type Asked struct {
	Ask
	Default    any  `json:"default,omitempty"`
	HasDefault bool `json:"has_default,omitempty"`
	Settled    bool `json:"settled,omitempty"`
	Answer     any  `json:"answer,omitempty"`
	// Remind is when people are reminded next, 0 for never; then every Every nanoseconds,
	// Reminders times in all.
	Remind    int64 `json:"remind,omitempty"`
	Every     int64 `json:"every,omitempty"`
	Reminders int   `json:"reminders,omitempty"`
}

// Question is a question to a person.
type Question struct {
	// Task is the attempt that waits; Place says where it stands.
	Task TaskID
	Place
	Ask
	// Round counts the interruptions of the attempt before this one.
	Round int
}

// Target returns the name by which an answer refers to the question: node, node[index] in
// an `each`, node:key for what a program asks, outer/inner in a subgraph.
func (q *Question) Target() string {
	target := withoutCalls(q.Path())
	if q.Task.Element > 0 {
		target += "[" + strconv.Itoa(q.Task.Element-1) + "]"
	}
	if q.Key != "" {
		target += ":" + q.Key
	}
	return target
}

// withoutCalls drops the numbers of tool calls from a path: agent#1/step is agent/step.
func withoutCalls(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], "#")
	}
	return strings.Join(parts, "/")
}

// Index returns the element that asks, from 0, or -1 outside of an `each`.
func (q *Question) Index() int { return q.Task.Element - 1 }

// Parse converts the text of an answer to a valid value. The error lists the valid
// answers.
func (q *Question) Parse(text string) (any, error) {
	compiled, err := q.answerSchema()
	if err != nil {
		return nil, err
	}
	value, err := given.Answer(text, compiled, q.Schema)
	if err != nil {
		return nil, fmt.Errorf("answer %s for %q is not legal: %w; its schema is %s", strconv.Quote(text), q.Target(), err, compiled)
	}
	return value, nil
}

func (a *Ask) answerSchema() (*schema.Schema, error) { return schema.Compile(a.Schema) }

// askPerson opens the question of a human node.
func (t *Task) askPerson(u *Unit, n *node, env map[string]any) {
	s := t.scope.state
	config, err := bind.EvalFields(n.config, &s.vm, env)
	if err != nil {
		t.endAttempt(u, nil, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	asked := Asked{Ask: Ask{Prompt: eval.Text(config["prompt"])}}
	if given, ok := config["choices"]; ok {
		choices, _ := given.([]any)
		if len(choices) == 0 {
			t.endAttempt(u, nil, &Failure{Kind: "invalid_input", Message: "choices: " + preview(given, 60) + " is no list of at least one answer"})
			return
		}
		asked.Schema = map[string]any{"enum": choices}
	} else if document, ok := config["schema"].(map[string]any); ok {
		asked.Schema = document
	}
	if n.timeout > 0 {
		asked.Until = s.Now + int64(n.timeout)
	}
	asked.Default, asked.HasDefault = config["default"]
	if remind, ok := config["remind"].(map[string]any); ok {
		after, _ := parseWait(remind["after"]) // spec has checked them
		asked.Remind, asked.Every, asked.Reminders = s.Now+int64(after), int64(after), 3
		if every, ok := remind["every"]; ok {
			d, _ := parseWait(every)
			asked.Every = int64(d)
		}
		if most, ok := remind["max"].(int); ok {
			asked.Reminders = most
		}
	}
	t.openQuestions(u, []Asked{asked})
}

// ask opens the questions of an interrupted attempt. Answers to earlier questions stay.
func (t *Task) ask(u *Unit, asks []Ask) {
	var list []Asked
	for _, old := range u.Questions {
		if old.Settled {
			list = append(list, old)
		}
	}
	for _, ask := range asks {
		if find(list, ask.ID) == nil {
			list = append(list, Asked{Ask: ask})
		}
	}
	if u.Ends > 0 {
		t.scope.state.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: t.id(u)})
		u.Ends = 0
	}
	t.openQuestions(u, list)
}

func (t *Task) openQuestions(u *Unit, list []Asked) {
	for i := range list {
		if list[i].Schema == nil {
			list[i].Schema = map[string]any{"type": "string"}
		}
		if _, err := list[i].answerSchema(); err != nil {
			t.endAttempt(u, nil, &Failure{Kind: "invalid_input", Message: "schema of the answer: " + err.Error()})
			return
		}
	}
	u.State, u.Questions = asking, list
	t.askOpenQuestions(u)
	for i := range list {
		if !list[i].Settled {
			t.noteAsked(u, &list[i])
		}
	}
	t.answeredAll(u)
}

// askOpenQuestions issues the commands for the unit's open questions and starts the
// answer timer.
func (t *Task) askOpenQuestions(u *Unit) {
	s := t.scope.state
	for i := range u.Questions {
		if q := &u.Questions[i]; !q.Settled {
			s.command(Command{Kind: AskPerson, Task: t.id(u), Question: t.question(u, q)})
		}
	}
	t.startAnswerTimer(u)
}

// startAnswerTimer starts a timer for the next reminder or timeout of a question.
func (t *Task) startAnswerTimer(u *Unit) {
	s, until := t.scope.state, int64(0)
	for i := range u.Questions {
		if q := &u.Questions[i]; !q.Settled {
			until = earlier(earlier(until, q.Until), q.Remind)
		}
	}
	if until > 0 {
		s.command(Command{Kind: StartTimer, Timer: AnswerTimer, Task: t.id(u), For: s.timeUntil(until)})
	}
}

// remind emits a reminder for each open question that is due for one.
func (t *Task) remind(u *Unit) {
	s := t.scope.state
	for i := range u.Questions {
		q := &u.Questions[i]
		if q.Settled || q.Remind == 0 || q.Remind > s.Now || q.Until > 0 && q.Until <= s.Now {
			continue
		}
		q.Reminders--
		if q.Remind = 0; q.Reminders > 0 {
			q.Remind = s.Now + q.Every
		}
		if n := s.note(NoteReminded, t); n != nil {
			n.Task, n.Question = t.id(u), t.question(u, q)
		}
	}
}

func (t *Task) question(u *Unit, q *Asked) *Question {
	return &Question{Task: t.id(u), Place: t.place(), Ask: q.Ask, Round: u.Round}
}

func find(list []Asked, id string) *Asked {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// answers returns the answers for the next attempt, by question.
func (u *Unit) answers() map[string]any {
	var out map[string]any
	for i := range u.Questions {
		if q := &u.Questions[i]; q.Settled {
			if out == nil {
				out = map[string]any{}
			}
			out[q.ID] = q.Answer
		}
	}
	return out
}

// Questions returns the open questions in path order.
func (s *State) Questions() []Question {
	var out []Question
	for _, sc := range s.inCallOrder() {
		for _, t := range sc.activeTasks() {
			for _, u := range t.Units {
				if u.State != asking {
					continue
				}
				for i := range u.Questions {
					if q := &u.Questions[i]; !q.Settled {
						out = append(out, *t.question(u, q))
					}
				}
			}
		}
	}
	return out
}

// answered takes a person's answer. An invalid one, or one without a question, changes
// nothing.
func (s *State) answered(t *Task, e *Event) {
	if t == nil {
		return
	}
	u := t.unit(e.Task)
	if u == nil || u.State != asking {
		return
	}
	q := find(u.Questions, e.Question)
	if q == nil || q.Settled {
		return
	}
	compiled, err := q.answerSchema()
	if err != nil {
		return
	}
	value := compiled.Normalise(e.Output)
	if compiled.Check(value) != nil {
		return
	}
	q.Settled, q.Answer = true, value
	t.noteAnswered(u, q, e.By)
	s.command(Command{Kind: CloseQuestion, Task: e.Task, Question: t.question(u, q)})
	if !e.Hold {
		t.answeredAll(u)
	}
}

// hasAnswers reports whether all questions of a unit are answered.
func (u *Unit) hasAnswers() bool {
	return !slices.ContainsFunc(u.Questions, func(q Asked) bool { return !q.Settled })
}

// answeredAll continues a unit whose questions are all answered.
func (t *Task) answeredAll(u *Unit) {
	if !u.hasAnswers() {
		return
	}
	s := t.scope.state
	if q := &u.Questions[0]; q.Until > 0 || q.Remind > 0 {
		s.command(Command{Kind: StopTimer, Timer: AnswerTimer, Task: t.id(u)})
	}
	s.wake()
	if t.scope.plan.nodes[t.Node].act == actHuman {
		t.endAttempt(u, u.Questions[0].Answer, nil)
		return
	}
	u.Round++
	t.queue(u)
}

// unanswered handles the answer timer: it sends due reminders and settles questions whose
// timeout has passed.
func (t *Task) unanswered(u *Unit) {
	if u.State != asking {
		return
	}
	t.remind(u)
	s := t.scope.state
	for i := range u.Questions {
		q := &u.Questions[i]
		if q.Settled || q.Until == 0 || q.Until > s.Now {
			continue
		}
		q.Settled, q.Answer = true, q.Default
		t.noteAnswered(u, q, "timeout")
		s.command(Command{Kind: CloseQuestion, Task: t.id(u), Question: t.question(u, q)})
		if !q.HasDefault {
			s.wake()
			t.endAttempt(u, nil, &Failure{Kind: "timeout", Message: "nobody answered in time, and there is no default"})
			return
		}
	}
	if !u.hasAnswers() {
		t.startAnswerTimer(u)
	}
	t.answeredAll(u)
}

// closeQuestions withdraws the open questions of a unit.
func (t *Task) closeQuestions(u *Unit) {
	s := t.scope.state
	for i := range u.Questions {
		if q := &u.Questions[i]; !q.Settled {
			s.command(Command{Kind: CloseQuestion, Task: t.id(u), Question: t.question(u, q)})
		}
	}
	s.command(Command{Kind: StopTimer, Timer: AnswerTimer, Task: t.id(u)})
}

// Questions of human nodes and programs to people (GraphSpec §4).

package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/schema"
)

// UnitQuestion is a question of a unit, and its answer.
type UnitQuestion struct {
	Ask
	Default    any  `json:"default,omitempty"`
	HasDefault bool `json:"has_default,omitempty"`
	Settled    bool `json:"settled,omitempty"`
	Answer     any  `json:"answer,omitempty"`
	// Remind is the Unix time of the next reminder, or 0. Reminders counts the remaining ones, Every is
	// the interval in nanoseconds.
	Remind    int64 `json:"remind,omitempty"`
	Every     int64 `json:"every,omitempty"`
	Reminders int   `json:"reminders,omitempty"`
}

// Question is a question to a person.
type Question struct {
	Task TaskID // the attempt that waits
	Place
	Ask
	Round int // counts the earlier interruptions of the attempt
}

// Target returns how answers name the question: node, node[index], node:key, outer/inner.
func (q *Question) Target() string {
	target := cutParts(q.Path(), "#") // agent#1/step is agent/step
	if q.Task.Element > 0 {
		target += "[" + strconv.Itoa(q.Task.Element-1) + "]"
	}
	if q.Key != "" {
		target += ":" + q.Key
	}
	return target
}

// WithoutIndexes removes the numbers of elements and calls from a path or a target.
func WithoutIndexes(target string) string {
	path, key, hasKey := strings.Cut(target, ":")
	if path = cutParts(cutParts(path, "#"), "["); hasKey {
		path += ":" + key
	}
	return path
}

// cutParts cuts each part of a path at a mark.
func cutParts(path, mark string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], mark)
	}
	return strings.Join(parts, "/")
}

// Index returns the element that asks, from 0, or -1 outside of an `each`.
func (q *Question) Index() int { return q.Task.Element - 1 }

// Parse converts the text of an answer to a valid value. Errors list the valid answers.
func (q *Question) Parse(text string) (any, error) {
	compiled, err := q.answerSchema()
	if err != nil {
		return nil, err
	}
	value, err := input.ParseAnswer(text, compiled, q.Schema)
	if err != nil {
		return nil, fmt.Errorf("answer %s for %q is not legal: %w; its schema is %s", strconv.Quote(text), q.Target(), err, compiled)
	}
	return value, nil
}

func (a *Ask) answerSchema() (*schema.Schema, error) { return schema.Compile(a.Schema) }

func (t *Task) askPerson(u *Unit, n *node, config map[string]any) {
	s := t.scope.state
	q := &UnitQuestion{Ask: Ask{Prompt: eval.Text(config["prompt"])}}
	if given, ok := config["choices"]; ok {
		choices, _ := given.([]any)
		if len(choices) == 0 {
			t.endAttempt(u, nil, &Failure{Kind: "invalid_input", Message: "choices: " + previewValue(given, 60) + " is not a list of at least one answer"})
			return
		}
		q.Schema = map[string]any{"enum": choices}
	} else {
		q.Schema, _ = config["schema"].(map[string]any)
	}
	if n.decl.Timeout > 0 {
		q.Until = s.Now + int64(n.decl.Timeout)
	}
	q.Default, q.HasDefault = config["default"]
	if remind, ok := config["remind"].(map[string]any); ok {
		after, _ := parseWait(remind["after"]) // spec has checked these values
		q.Remind, q.Every, q.Reminders = s.Now+int64(after), int64(after), 3
		if every, ok := remind["every"]; ok {
			d, _ := parseWait(every)
			q.Every = int64(d)
		}
		if most, ok := remind["max"].(int); ok {
			q.Reminders = most
		}
	}
	t.openQuestions(u, []*UnitQuestion{q})
}

// openAsks opens the questions of an interrupted attempt. It keeps answers to earlier questions.
func (t *Task) openAsks(u *Unit, asks []Ask) {
	list := slices.DeleteFunc(slices.Clone(u.Questions), func(q *UnitQuestion) bool { return !q.Settled })
	for _, ask := range asks {
		if findQuestion(list, ask.ID) == nil {
			list = append(list, &UnitQuestion{Ask: ask})
		}
	}
	t.stopTimeout(u)
	t.openQuestions(u, list)
}

func (t *Task) openQuestions(u *Unit, list []*UnitQuestion) {
	for _, q := range list {
		if q.Schema == nil {
			q.Schema = map[string]any{"type": "string"}
		}
		if _, err := q.answerSchema(); err != nil {
			t.endAttempt(u, nil, &Failure{Kind: "invalid_input", Message: "schema of the answer: " + err.Error()})
			return
		}
	}
	u.State, u.Questions = asking, list
	t.askQuestions(u)
	for _, q := range u.pendingQuestions() {
		t.noteQuestion(NoteAsked, u, q, "")
	}
	t.continueIfAnswered(u)
}

// pendingQuestions returns the questions of a unit that have no answer yet.
func (u *Unit) pendingQuestions() []*UnitQuestion {
	return slices.DeleteFunc(slices.Clone(u.Questions), func(q *UnitQuestion) bool { return q.Settled })
}

// askQuestions asks the unit's open questions and starts the answer timer.
func (t *Task) askQuestions(u *Unit) {
	for _, q := range u.pendingQuestions() {
		t.scope.state.addCommand(Command{Kind: AskPerson, Task: t.attemptID(u), Question: t.newQuestion(u, q)})
	}
	t.startAnswerTimer(u)
}

// startAnswerTimer starts a timer for the next reminder or timeout of a question.
func (t *Task) startAnswerTimer(u *Unit) {
	s, until := t.scope.state, int64(0)
	for _, q := range u.pendingQuestions() {
		until = earlierMoment(earlierMoment(until, q.Until), q.Remind)
	}
	if until > 0 {
		s.addCommand(Command{Kind: StartTimer, Timer: AnswerTimer, Task: t.attemptID(u), For: s.timeUntil(until)})
	}
}

func (t *Task) newQuestion(u *Unit, q *UnitQuestion) *Question {
	return &Question{Task: t.attemptID(u), Place: t.place(), Ask: q.Ask, Round: u.Round}
}

func findQuestion(list []*UnitQuestion, id string) *UnitQuestion {
	return findFirst(list, func(q *UnitQuestion) bool { return q.ID == id })
}

// answers returns the answers for the next attempt, by question.
func (u *Unit) answers() map[string]any {
	var out map[string]any
	for _, q := range u.Questions {
		if q.Settled {
			out = setEntry(out, q.ID, q.Answer)
		}
	}
	return out
}

// Questions returns the open questions in path order.
func (s *State) Questions() []Question {
	var out []Question
	for _, sc := range s.scopesInCallOrder() {
		for t, u := range activeUnits(sc) {
			if u.State != asking {
				continue
			}
			for _, q := range u.pendingQuestions() {
				out = append(out, *t.newQuestion(u, q))
			}
		}
	}
	return out
}

// acceptAnswer accepts a person's answer if it is valid and its question is open.
func (s *State) acceptAnswer(t *Task, e *Event) {
	u := t.findUnit(e.Task)
	if u == nil || u.State != asking {
		return
	}
	q := findQuestion(u.Questions, e.Question)
	if q == nil || q.Settled {
		return
	}
	compiled, err := q.answerSchema()
	if err != nil {
		return
	}
	value, err := compiled.Accept(e.Output)
	if err != nil {
		return
	}
	t.recordAnswer(u, q, value, e.By)
	if !e.Hold {
		t.continueIfAnswered(u)
	}
}

func (t *Task) recordAnswer(u *Unit, q *UnitQuestion, answer any, by string) {
	q.Settled, q.Answer = true, answer
	t.noteQuestion(NoteAnswered, u, q, by)
	t.scope.state.addCommand(Command{Kind: CloseQuestion, Task: t.attemptID(u), Question: t.newQuestion(u, q)})
}

// isAnswered reports whether all questions of a unit are answered.
func (u *Unit) isAnswered() bool { return len(u.pendingQuestions()) == 0 }

// continueIfAnswered continues a unit whose questions are all answered.
func (t *Task) continueIfAnswered(u *Unit) {
	if !u.isAnswered() {
		return
	}
	s := t.scope.state
	if q := u.Questions[0]; q.Until > 0 || q.Remind > 0 {
		s.addCommand(Command{Kind: StopTimer, Timer: AnswerTimer, Task: t.attemptID(u)})
	}
	s.wakeRun()
	if t.node().act == actHuman {
		t.endAttempt(u, u.Questions[0].Answer, nil)
		return
	}
	u.Round++
	t.queueUnit(u)
}

// handleAnswerTimer emits due reminders, and answers timed-out questions with their defaults.
func (t *Task) handleAnswerTimer(u *Unit) {
	if u.State != asking {
		return
	}
	s := t.scope.state
	for _, q := range u.pendingQuestions() {
		if q.Until > 0 && q.Until <= s.Now {
			t.recordAnswer(u, q, q.Default, "timeout")
			if !q.HasDefault {
				s.wakeRun()
				t.endAttempt(u, nil, &Failure{Kind: "timeout", Message: "nobody answered in time, and there is no default"})
				return
			}
		} else if q.Remind > 0 && q.Remind <= s.Now {
			q.Reminders--
			if q.Remind = 0; q.Reminders > 0 {
				q.Remind = s.Now + q.Every
			}
			t.noteQuestion(NoteReminded, u, q, "")
		}
	}
	if !u.isAnswered() {
		t.startAnswerTimer(u)
	}
	t.continueIfAnswered(u)
}

// closeQuestions withdraws the open questions of a unit.
func (t *Task) closeQuestions(u *Unit) {
	s := t.scope.state
	for _, q := range u.pendingQuestions() {
		s.addCommand(Command{Kind: CloseQuestion, Task: t.attemptID(u), Question: t.newQuestion(u, q)})
	}
	s.addCommand(Command{Kind: StopTimer, Timer: AnswerTimer, Task: t.attemptID(u)})
}

// People: human nodes ask and wait (GraphSpec §4).

package machine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/given"
)

// Question is what a person is asked.
type Question struct {
	// Task is the execution that waits, and ID tells its questions apart.
	Task TaskID
	Ask
}

// Target names the question as an answer does: node, node[index] in an `each`,
// node:key for what a program asks, outer/inner in a subgraph.
func (q *Question) Target() string {
	target := q.Path()
	if i := q.Index(); i >= 0 {
		target += "[" + strconv.Itoa(i) + "]"
	}
	if q.Key != "" {
		target += ":" + q.Key
	}
	return target
}

// Path is the path of the node that asks.
func (q *Question) Path() string {
	switch {
	case q.Node == "":
		return q.Task.Node
	case q.Task.Element > 0:
		return q.Task.Node + "[" + strconv.Itoa(q.Task.Element-1) + "]/" + q.Node
	}
	return q.Task.Node + "/" + q.Node
}

// Index is the element that asks, from 0; -1 outside of an `each`.
func (q *Question) Index() int {
	if q.Node == "" {
		return q.Task.Element - 1
	}
	return q.Element - 1
}

// public is the question as a person is asked it.
func (q *question) public(id TaskID) *Question { return &Question{Task: id, Ask: q.Ask} }

// ask parks the task until a person has answered.
func (p *Plan) ask(s *State, t *task, n *node) {
	s.setOwn(n, t)
	asked, failure := p.humanQuestion(s, t.node)
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	p.parkFor(s, t, asked)
}

// askElement asks for an element.
func (p *Plan) askElement(s *State, t *task, i int) {
	s.setElement(t.each, i)
	s.setOwn(&p.nodes[t.node], t)
	asked, failure := p.humanQuestion(s, t.node)
	if failure != nil {
		p.elementFailed(s, t, i, failure)
		return
	}
	asked.attempt = 1
	t.each.asking[i] = asked
	s.noteAsked(t, s.elementID(t, i, 1), asked, nil)
	s.askAll(s.elementID(t, i, 1), asked)
}

// humanQuestion is what a human node asks.
func (p *Plan) humanQuestion(s *State, node int) (*questions, *Failure) {
	n := &p.nodes[node]
	config, err := bind.EvalFields(n.config, &s.vm, s.env)
	if err != nil {
		return nil, &Failure{Kind: "expression", Message: err.Error()}
	}
	ask := Ask{Prompt: eval.Text(config["prompt"])}
	if given, ok := config["choices"]; ok {
		choices, _ := given.([]any)
		if len(choices) == 0 {
			return nil, &Failure{Kind: "invalid_input", Message: "choices: " + preview(given, 60) + " is no list of at least one answer"}
		}
		ask.Schema = map[string]any{"enum": choices}
	} else if document, ok := config["schema"].(map[string]any); ok {
		ask.Schema = document
	}
	if n.timeout > 0 {
		ask.Until = s.now + int64(n.timeout)
	}
	q, err := newQuestion(ask)
	if err != nil {
		return nil, &Failure{Kind: "invalid_input", Message: "schema of the answer: " + err.Error()}
	}
	q.fallback, q.hasDefault = config["default"]
	return &questions{questions: []question{q}}, nil
}

// Questions lists what people are asked, in declaration order of the branches.
func (s *State) Questions() []Question {
	var out []Question
	add := func(id TaskID, asked *questions) {
		for i := range asked.questions {
			if asked.open(i) {
				out = append(out, *asked.questions[i].public(id))
			}
		}
	}
	for _, list := range [...][]task{s.tasks, s.parked, s.next} {
		for i := range list {
			t := &list[i]
			if t.each != nil {
				for _, i := range sortedQuestions(t.each.asking) {
					add(s.elementID(t, i, t.each.asking[i].attempt), t.each.asking[i])
				}
			} else if t.status == asking {
				add(s.taskID(t), t.asked)
			}
		}
	}
	return out
}

func sortedQuestions(asking map[int]*questions) []int {
	out := make([]int, 0, len(asking))
	for i := range asking { //lint:ignore mapiter sorted below
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// Parse turns the text of an answer into a legal value, as given.Answer reads it. The
// error says which answers are legal.
func (q *Question) Parse(text string) (any, error) {
	asked, err := newQuestion(q.Ask)
	if err != nil {
		return nil, err
	}
	value, err := given.Answer(text, asked.schema, asked.Schema)
	if err != nil {
		return nil, fmt.Errorf("answer %s for %q is not legal: %w; its schema is %s", strconv.Quote(text), q.Target(), err, asked.schema)
	}
	return value, nil
}

// answered takes a person's answer; one that is not legal, or that nobody asked
// for, changes nothing.
func (p *Plan) answered(s *State, e *Event) {
	if p.answeredInside(s, e) {
		s.Effect = Applied
		return
	}
	p.settleQuestion(s, e.Task, settling{by: e.By, hold: e.Hold, do: func(asked *questions) (*question, bool) {
		q := asked.find(e.Question)
		if q == nil || q.settled {
			return nil, false
		}
		value := q.schema.Normalise(e.Output)
		if q.schema.Check(value) != nil {
			return nil, false
		}
		q.answer, q.settled = value, true
		s.progress()
		s.Effect = Applied
		return q, true
	}})
}

// answeredInside takes an answer for something in a subgraph that runs: it is passed
// on, and kept for the case that the subgraph is run again before it has noted it.
func (p *Plan) answeredInside(s *State, e *Event) bool {
	t := s.find(e.Task)
	if t == nil || !s.open || s.closing != nil || p.nodes[t.node].kind != "graph" && len(s.logs[e.Task]) == 0 {
		return false // nothing in it asks: it would have noted so
	}
	asked := &t.asked
	if t.each != nil {
		run := t.each.running[e.Task.Element-1]
		if run == nil || run.attempt != e.Task.Attempt {
			return false
		}
		asked = &run.asked
	} else if t.status != running {
		return false
	}
	if *asked == nil {
		*asked = &questions{any: true}
	}
	q := (*asked).find(e.Question)
	switch {
	case q == nil:
		anything, _ := newQuestion(Ask{ID: e.Question, Node: e.Task.Node, Schema: map[string]any{}})
		(*asked).questions = append((*asked).questions, anything)
		q = &(*asked).questions[len((*asked).questions)-1]
	case q.settled:
		return false
	}
	q.answer, q.settled = e.Output, true
	s.command(Command{
		Kind: PassAnswer, Task: e.Task, Question: &Question{Task: e.Task, Ask: Ask{ID: e.Question}}, Answer: e.Output, By: e.By,
	})
	return true
}

// Settled reports whether an answer is there to a question of something in a task that
// runs, which the task may not have noted yet.
func (s *State) Settled(id TaskID, question string) bool {
	t := s.find(id)
	if t == nil {
		return false
	}
	asked := t.asked
	if t.each != nil {
		asked = nil
		if run := t.each.running[id.Element-1]; run != nil {
			asked = run.asked
		}
	}
	if asked == nil {
		return false
	}
	q := asked.find(question)
	return q != nil && q.settled
}

// unanswered acts on people who did not answer in time. A subgraph runs again
// and sees to it itself.
func (p *Plan) unanswered(s *State, id TaskID) {
	p.settleQuestion(s, id, settling{by: "timeout", do: func(asked *questions) (*question, bool) {
		if asked.any || asked.questions[0].Node != "" {
			asked.woken, s.Effect = true, Applied
			return nil, true
		}
		q := &asked.questions[0]
		if q.settled {
			return nil, false
		}
		q.settled, s.Effect = true, Applied
		if q.hasDefault {
			q.answer = q.fallback
		} else {
			q.failure = &Failure{Kind: "timeout", Message: "nobody answered in time, and there is no default"}
		}
		return q, true
	}})
}

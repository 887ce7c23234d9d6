// Questions: what tasks have asked people, and what becomes of the answers.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/internal/schema"
)

// open reports whether the question waits for a person.
func (q *questions) open(i int) bool { return !q.questions[i].settled }

// ready reports whether the task can go on.
func (q *questions) ready() bool {
	settled := 0
	for i := range q.questions {
		if q.questions[i].settled {
			settled++
		}
	}
	return q.woken || settled > 0 && (q.any || settled == len(q.questions))
}

// deadline is when the task goes on without an answer; 0: never.
func (q *questions) deadline() int64 {
	first := q.until
	for i := range q.questions {
		if q.open(i) {
			first = sooner(first, q.questions[i].Until)
		}
	}
	return first
}

// counted are the steps of a subgraph that are counted already.
func (q *questions) counted() int {
	if q == nil {
		return 0
	}
	return q.steps
}

// answers are those that the task runs again with, by question.
func (q *questions) answers() map[string]any {
	if q == nil {
		return nil
	}
	out := map[string]any{}
	for i := range q.questions {
		if q.questions[i].settled {
			out[q.questions[i].ID] = q.questions[i].answer
		}
	}
	return out
}

// asks makes the questions of what a task asks, with the answers that are there:
// a program's earlier ones stand, and a subgraph's questions may have been
// answered while it ran.
// ends is when the time of its attempt is over.
func (p *Plan) asks(node int, old *questions, e *Event, ends int64) (*questions, *Failure) {
	park := e.Park
	q := &questions{any: p.nodes[node].kind == "graph", at: park.At, until: park.Until}
	if q.any && q.until > 0 && ends > 0 {
		q.until, q.ends = min(q.until, ends), ends
	}
	if q.any && e.Child != nil {
		q.steps, q.waiting = max(e.Child.Steps, old.counted()), e.Child.Waiting
	}
	if old != nil && !q.any {
		for i := range old.questions {
			if !old.open(i) {
				q.questions = append(q.questions, old.questions[i])
			}
		}
	}
	for _, ask := range park.Asks {
		if q.any && old != nil && old.find(ask.ID) != nil && old.find(ask.ID).settled {
			q.questions = append(q.questions, *old.find(ask.ID))
			continue
		}
		if q.find(ask.ID) != nil {
			continue
		}
		asked, err := newQuestion(ask)
		if err != nil {
			return nil, &Failure{Kind: "invalid_output", Message: "question " + ask.ID + ": schema of the answer: " + err.Error()}
		}
		q.questions = append(q.questions, asked)
	}
	return q, nil
}

func newQuestion(ask Ask) (question, error) {
	if ask.Schema == nil {
		ask.Schema = map[string]any{"type": "string"}
	}
	compiled, err := schema.Compile(ask.Schema)
	return question{Ask: ask, schema: compiled}, err
}

func (q *questions) find(id string) *question {
	for i := range q.questions {
		if q.questions[i].ID == id {
			return &q.questions[i]
		}
	}
	return nil
}

// parkAsking parks a task that asks before it ends.
func (p *Plan) parkAsking(s *State, t *task, e *Event) {
	asked, failure := p.asks(t.node, t.asked, e, t.ends)
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	p.parkFor(s, t, asked)
}

// parkFor parks a task until its questions are answered.
func (p *Plan) parkFor(s *State, t *task, asked *questions) {
	s.noteAsked(t, s.taskID(t), asked, t.asked)
	t.asked, t.status, t.due = asked, asking, asked.ready()
	s.waitingTasks++
	s.askAll(s.taskID(t), asked)
	if asked.at != nil {
		s.pauseDue = true
	}
}

// parkElement is parkAsking for an element.
func (p *Plan) parkElement(s *State, t *task, i int, run *elementRun, e *Event) *Failure {
	asked, failure := p.asks(t.node, run.asked, e, run.ends)
	if failure != nil {
		return failure
	}
	asked.attempt = run.attempt
	t.each.asking[i] = asked
	s.noteAsked(t, s.elementID(t, i, run.attempt), asked, run.asked)
	s.askAll(s.elementID(t, i, run.attempt), asked)
	if asked.ready() {
		t.each.again = append(t.each.again, i)
		s.moreToStart(t)
	}
	if asked.at != nil {
		s.pauseDue = true
	}
	return nil
}

// moreToStart lets a node with an `each` start more elements, when it had
// started all there were.
func (s *State) moreToStart(t *task) {
	if t.status != running {
		return
	}
	s.makeReady(t)
	for i := range s.tasks {
		if &s.tasks[i] == t {
			s.nextReady = min(s.nextReady, i)
		}
	}
}

// askAll asks what is open, and sets the timer of those who don't answer.
func (s *State) askAll(id TaskID, asked *questions) {
	for i := range asked.questions {
		if asked.open(i) {
			s.command(Command{Kind: AskPerson, Task: id, Question: asked.questions[i].public(id)})
		}
	}
	if until := asked.deadline(); until > 0 {
		s.command(Command{Kind: StartTimer, Timer: AnswerTimer, Task: id, For: s.remaining(until)})
	}
}

// settling is what is to become of a question.
type settling struct {
	// by is who answered; hold says that the task goes on only when the run is
	// taken up.
	by   string
	hold bool
	// do settles one of the questions. It returns the question, nil when a
	// subgraph is to see to it, and whether the questions changed.
	do func(*questions) (settled *question, changed bool)
}

// settle settles a question of a task. It reports whether the questions changed.
func (q *questions) settle(s *State, t *task, id TaskID, how settling) bool {
	until := q.deadline()
	settled, changed := how.do(q)
	if !changed {
		return false
	}
	if settled != nil {
		s.noteAnswered(t, id, settled, how.by)
	}
	if until > 0 {
		s.command(Command{Kind: StopTimer, Timer: AnswerTimer, Task: id})
	}
	if until = q.deadline(); until > 0 && !q.ready() {
		s.command(Command{Kind: StartTimer, Timer: AnswerTimer, Task: id, For: s.remaining(until)})
	}
	return true
}

// settleQuestion lets the task of a question go on with what settle made of it.
func (p *Plan) settleQuestion(s *State, id TaskID, how settling) {
	if id.Element > 0 {
		p.settleElement(s, id, how)
		return
	}
	waits := func(t *task) bool { return t.asked != nil && s.taskID(t) == id }
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.open || !waits(t) {
			continue
		}
		// A subgraph that runs again finds the answers given meanwhile when it asks. It can be
		// due already, after an earlier answer.
		if t.asked.settle(s, t, id, how) && t.status == asking && !t.due {
			if t.due = t.asked.ready(); t.due {
				t.order = s.nextOrder()
			}
		}
		return
	}
	for i := range s.parked {
		t := &s.parked[i]
		if !waits(t) {
			continue
		}
		if t.asked.settle(s, t, id, how) && t.asked.ready() {
			p.leavePark(s, i, how.hold)
		}
		return
	}
}

// settleElement is settleQuestion for an element. One of a human node is done.
func (p *Plan) settleElement(s *State, id TaskID, how settling) {
	i := id.Element - 1
	p.rouseElement(s, id, how.hold, func(t *task) (matches, runs bool) {
		e := t.each
		asked := e.asking[i]
		if asked == nil {
			if run := e.running[i]; run != nil && run.asked != nil && run.attempt == id.Attempt {
				run.asked.settle(s, t, id, how)
			}
			return false, false
		}
		if asked.attempt != id.Attempt || !asked.settle(s, t, id, how) || !asked.ready() {
			return false, false
		}
		if p.nodes[t.node].act != actHuman {
			if !slices.Contains(e.again, i) {
				e.again = append(e.again, i)
			}
			return true, true
		}
		delete(e.asking, i)
		if q := &asked.questions[0]; q.failure != nil {
			own := *q.failure
			own.Node, own.Attempt = p.nodes[t.node].id, id.Attempt
			p.elementFailed(s, t, i, &own)
		} else {
			e.results[i] = q.answer
		}
		return true, len(e.asking) == 0
	})
}

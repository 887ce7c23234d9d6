// Inquiries: what tasks have asked people, and what becomes of the answers.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/internal/schema"
)

// inquiry holds the questions of a task, or of an element of one.
type inquiry struct {
	questions []question
	// attempt is that of the element that asked.
	attempt int
	// any says that one answer is enough to go on: a subgraph's questions are
	// those of several nodes.
	any bool
	// at is the breakpoint that a subgraph stands at.
	at *Breakpoint
	// steps are those of a subgraph that are counted in the run around it.
	steps int
	// woken says that a subgraph is to go on without an answer, and until when it
	// does so by itself (Unix nanoseconds); 0: never.
	woken bool
	until int64
}

// question is a question that a task waits for. The zero ID is that of a human
// node.
type question struct {
	Ask
	schema     *schema.Schema
	fallback   any
	hasDefault bool
	// settled says that there is an answer, or a failure of who did not answer.
	settled bool
	answer  any
	failure *Failure
}

// open reports whether the question waits for a person.
func (q *inquiry) open(i int) bool { return !q.questions[i].settled }

// ready reports whether the task can go on.
func (q *inquiry) ready() bool {
	settled := 0
	for i := range q.questions {
		if q.questions[i].settled {
			settled++
		}
	}
	return q.woken || settled > 0 && (q.any || settled == len(q.questions))
}

// deadline is when the task goes on without an answer; 0: never.
func (q *inquiry) deadline() int64 {
	first := q.until
	for i := range q.questions {
		if q.open(i) {
			first = sooner(first, q.questions[i].Until)
		}
	}
	return first
}

// counted are the steps of a subgraph that are counted already.
func (q *inquiry) counted() int {
	if q == nil {
		return 0
	}
	return q.steps
}

// answers are those that the task runs again with, by question.
func (q *inquiry) answers() map[string]any {
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

// inquire makes an inquiry of what a task asks, with the answers that are there:
// a program's earlier ones stand, and a subgraph's questions may have been
// answered while it ran.
func (p *Plan) inquire(node int, old *inquiry, e *Event) (*inquiry, *Failure) {
	park := e.Park
	q := &inquiry{any: p.nodes[node].kind == "graph", at: park.At, until: park.Until}
	if q.any && e.Child != nil {
		q.steps = max(e.Child.Steps, old.counted())
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

func (q *inquiry) find(id string) *question {
	for i := range q.questions {
		if q.questions[i].ID == id {
			return &q.questions[i]
		}
	}
	return nil
}

// parkAsking parks a task that asks before it ends.
func (p *Plan) parkAsking(s *State, t *task, e *Event) {
	asked, failure := p.inquire(t.node, t.asked, e)
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	p.parkFor(s, t, asked)
}

// parkFor parks a task until its questions are answered.
func (p *Plan) parkFor(s *State, t *task, asked *inquiry) {
	t.asked, t.status, t.due = asked, asking, asked.ready()
	s.waitingTasks++
	s.askAll(s.taskID(t), asked)
	if asked.at != nil {
		s.pauseDue = true
	}
}

// parkElement is parkAsking for an element.
func (p *Plan) parkElement(s *State, t *task, i int, run *elementRun, e *Event) *Failure {
	asked, failure := p.inquire(t.node, run.asked, e)
	if failure != nil {
		return failure
	}
	asked.attempt = run.attempt
	t.each.asking[i] = asked
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
func (s *State) askAll(id TaskID, asked *inquiry) {
	for i := range asked.questions {
		if asked.open(i) {
			s.command(Command{Kind: AskPerson, Task: id, Question: asked.questions[i].public(id)})
		}
	}
	if until := asked.deadline(); until > 0 {
		s.command(Command{Kind: StartTimer, Timer: AnswerTimer, Task: id, For: s.remaining(until)})
	}
}

// settle settles a question of a task as settle says. It reports whether the
// inquiry changed.
func (q *inquiry) settle(s *State, id TaskID, settle func(*inquiry) bool) bool {
	until := q.deadline()
	if !settle(q) {
		return false
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
func (p *Plan) settleQuestion(s *State, id TaskID, settle func(*inquiry) bool) {
	if id.Element > 0 {
		p.settleElement(s, id, settle)
		return
	}
	waits := func(t *task) bool { return t.asked != nil && s.taskID(t) == id }
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.open || !waits(t) || t.due {
			continue
		}
		// A subgraph that runs again finds what was answered meanwhile when it asks.
		if t.asked.settle(s, id, settle) && t.status == asking {
			t.due = t.asked.ready()
		}
		return
	}
	for i := range s.parked {
		t := &s.parked[i]
		if !waits(t) {
			continue
		}
		if t.asked.settle(s, id, settle) && t.asked.ready() {
			p.leavePark(s, i)
		}
		return
	}
}

// settleElement is settleQuestion for an element. One of a human node is done.
func (p *Plan) settleElement(s *State, id TaskID, settle func(*inquiry) bool) {
	i := id.Element - 1
	p.rouseElement(s, id, func(t *task) (matches, runs bool) {
		e := t.each
		asked := e.asking[i]
		if asked == nil {
			if run := e.running[i]; run != nil && run.asked != nil && run.attempt == id.Attempt {
				run.asked.settle(s, id, settle)
			}
			return false, false
		}
		if asked.attempt != id.Attempt || !asked.settle(s, id, settle) || !asked.ready() {
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

// leavePark lets a parked task join the next superstep. Whoever answers takes a
// run up that pauses for people.
func (p *Plan) leavePark(s *State, i int) {
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
		if asks, until := s.parked[i].waitsForPeople(); !asks || until > 0 {
			return false
		}
	}
	return len(s.parked) > 0
}

// Idle reports whether nothing of a live run is at work: it waits for people, or
// for timers.
func (s *State) Idle() bool {
	return s.live && !s.open && s.deciding == 0 && s.closing == nil && len(s.next) == 0 && len(s.parked) > 0
}

// Waiting reports whether a live run has nothing to do but to wait for people
// who have, if anything, until a moment after now. With timers, also for such
// moments alone, unless the run or its branches are short of time meanwhile.
func (s *State) Waiting(now int64, timers bool) bool {
	if !s.Idle() || s.final != nil {
		return false
	}
	timers = timers && s.deadline == 0 && !s.plan.timesBranches()
	for i := range s.parked {
		t := &s.parked[i]
		waits, until := t.waitsForPeople()
		if moment := t.moment(); moment > 0 {
			waits, until = timers, moment
		}
		if !waits || until > 0 && until <= now {
			return false
		}
	}
	return true
}

// Due is the first moment at which a node that waits for one goes on, as Unix
// time in nanoseconds; 0: none does.
func (s *State) Due() int64 {
	first := int64(0)
	for i := range s.parked {
		first = sooner(first, s.parked[i].moment())
	}
	return first
}

// moment is when a parked task goes on whatever people do; 0: never, or it has an
// `each` whose elements are tried again.
func (t *task) moment() int64 {
	switch {
	case t.each != nil:
		first := int64(0)
		for _, i := range sortedInquiries(t.each.asking) {
			first = sooner(first, t.each.asking[i].until)
		}
		return first
	case t.status == waiting || t.status == delayed:
		return t.until
	case t.asked != nil:
		return t.asked.until
	}
	return 0
}

// sooner is the earlier of two moments, of which 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// timesBranches reports whether some branch has a time limit.
func (p *Plan) timesBranches() bool {
	for i := range p.nodes {
		if p.branchTimeout(i) > 0 {
			return true
		}
	}
	return false
}

// waitsForPeople reports whether only people can let a parked task go on, and
// until when they have time; 0: for ever.
func (t *task) waitsForPeople() (asks bool, until int64) {
	if t.status != asking {
		return false, 0
	}
	if t.each == nil {
		return true, t.asked.deadline()
	}
	for _, i := range sortedInquiries(t.each.asking) {
		until = sooner(until, t.each.asking[i].deadline())
	}
	return true, until
}

// One element of an `each`: how it starts, ends, fails, and goes on after it waited for
// a retry delay or for a person.

package machine

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
)

// started says how far the elements of a node got under way. The zero value is
// unset.
type started int

const (
	allStarted started = iota + 1
	ownLimit           // as many run as the node lets run at once
	noRoom             // as many tasks run as the run lets run at once
)

// nextElement takes the element that is to run next: one that runs again, or one
// that was never started.
func (e *eachState) nextElement() (element, attempt int, asked *questions) {
	if len(e.again) == 0 {
		e.next++
		return e.next - 1, 1, nil
	}
	i := e.again[0]
	e.again = e.again[1:]
	if asked = e.asking[i]; asked != nil {
		delete(e.asking, i)
		return i, asked.attempt, asked
	}
	attempt, asked = e.attempts[i].attempt+1, e.answered[i]
	delete(e.attempts, i)
	delete(e.answered, i)
	return i, attempt, asked
}

func (p *Plan) startElement(s *State, t *task) {
	e := t.each
	i, attempt, asked := e.nextElement()
	s.setElement(e, i)
	id := s.elementID(t, i, attempt)
	work, failure := p.work(s, t, i)
	if failure != nil {
		p.elementFailed(s, t, i, failure)
		return
	}
	s.runningTasks++
	e.running[i] = &elementRun{attempt: attempt, asked: asked, ends: s.handOver(id, work, asked)}
}

// elementID names an attempt of an element; elements count from 1 there.
func (s *State) elementID(t *task, i, attempt int) TaskID {
	return TaskID{Node: s.plan.nodes[t.node].id, Visit: t.visit, Attempt: attempt, Element: i + 1}
}

// elementEnded takes what the driver says an element came to; false says that
// the event is no news.
func (p *Plan) elementEnded(s *State, t *task, ev *Event) bool {
	e, i := t.each, ev.Task.Element-1
	run := e.running[i]
	if run == nil || run.attempt != ev.Task.Attempt {
		return false
	}
	delete(e.running, i)
	s.runningTasks--
	s.countChild(ev.Child, run.asked)
	if p.timeoutOf(t.node) > 0 {
		s.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: ev.Task})
	}
	failure := ev.Failure
	switch {
	case run.cause != nil && run.cause.Kind == "cancelled", ev.Child != nil && ev.Child.OutOfSteps:
		s.Effect = CutOff
		if t.cause == nil && ev.Child != nil && ev.Child.OutOfSteps {
			s.cancel(t, "no step is left")
		}
		e.cutOff().running[i] = &elementRun{attempt: run.attempt, asked: run.asked.countedTo(ev.Child)}
		p.eachSettle(s, t)
		return true
	case run.cause != nil:
		failure = run.cause
	}
	n := &p.nodes[t.node]
	switch {
	case failure != nil:
	case ev.Park != nil:
		failure = p.parkElement(s, t, i, run, ev)
	default:
		if failure = p.checkElement(s, n, i, ev.Output, e); failure != nil {
			break
		}
		if n.talk.joins {
			e.said(i, talkOf(ev, n))
		}
		s.noteElementEnded(t, i, nil)
	}
	if failure != nil {
		p.elementUnwell(s, t, ev.Task, failure, run.asked)
	}
	s.Effect = e.elementEffect(i, run, failure)
	if s.Effect == FailedForGood {
		e.cutOff().failed[i] = &elementRun{attempt: run.attempt, asked: run.asked.countedTo(ev.Child)}
	}
	p.eachSettle(s, t)
	return true
}

// elementUnwell tries an element again when the retry policy says so, else it
// fails it. What it was answered stands in its next attempt.
func (p *Plan) elementUnwell(s *State, t *task, id TaskID, failure *Failure, asked *questions) {
	e, i := t.each, id.Element-1
	own := *failure
	own.Node, own.Attempt = p.nodes[t.node].id, id.Attempt
	if next, again := p.retryDelay(s, t, i, id.Attempt, &own); again && e.failure == nil {
		e.attempts[i] = failedAttempt{id.Attempt, s.after(next.Delay)}
		if asked != nil && !asked.any {
			e.answered[i] = asked
		}
		s.noteRetrying(t, &own, next)
		s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: id, For: next.Delay})
		return
	}
	p.elementFailed(s, t, i, &own)
}

// checkElement checks an element's output against the node's schema and keeps it.
func (p *Plan) checkElement(s *State, n *node, i int, output any, e *eachState) *Failure {
	if n.schema != nil {
		output = n.schema.Normalise(output)
		if err := n.schema.Check(output); err != nil {
			return &Failure{Kind: "invalid_output", Message: "output does not fit its schema: " + err.Error()}
		}
	}
	size, fits := eval.Size(output, s.limits.MaxStateBytes-e.size)
	if !fits {
		return s.overLimit("the list of the outputs of the elements")
	}
	e.size += size
	e.results[i] = output
	return nil
}

// elementFailed applies the failure policy to an element; false means that the
// node fails with it, and that the other elements are cancelled.
func (p *Plan) elementFailed(s *State, t *task, i int, failure *Failure) bool {
	e := t.each
	e.failed++
	e.cutOff().failed[i] = &elementRun{attempt: 1}
	failure.Message = "element " + strconv.Itoa(i) + ": " + failure.Message + " (item " + preview(e.items[i], 60) + ")"
	if e.failure == nil {
		s.noteElementEnded(t, i, failure)
	}
	if e.lowest == nil || i < e.lowestIndex {
		e.lowest, e.lowestIndex = failure, i
	}
	waits := p.policyOf(t.node) == "wait_all"
	if waits || e.tolerate && e.failed < len(e.items) {
		s.degraded = true
		s.noteElement(t, failure)
		if waits {
			e.results[i] = map[string]any{"error": failureData(failure)}
		}
		return true
	}
	if e.failure == nil {
		e.failure = failure
		if e.tolerate {
			e.failure = e.lowest
		}
		s.cancelElements(t, "another element failed")
	}
	return false
}

// elementDue lets an element whose retry delay is over run again.
func (p *Plan) elementDue(s *State, id TaskID) bool {
	i := id.Element - 1
	return p.rouseElement(s, id, false, func(t *task) (matches, runs bool) {
		e := t.each
		if e.attempts[i].attempt != id.Attempt || slices.Contains(e.again, i) {
			return false, false
		}
		e.again = append(e.again, i)
		s.Effect = Applied
		return true, true
	})
}

// rouseElement finds the node of an element and, when change says so, lets it go
// on: at once while its superstep is open, else in the next one. It reports
// whether change took what happened.
func (p *Plan) rouseElement(s *State, id TaskID, hold bool, change func(t *task) (matches, runs bool)) bool {
	isNode := func(t *task) bool {
		return t.each != nil && t.visit == id.Visit && p.nodes[t.node].id == id.Node
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.open || !isNode(t) {
			continue
		}
		matches, runs := change(t)
		switch {
		case !runs:
		case t.status == delayed || t.status == asking:
			if !t.due {
				t.due, t.order = true, s.nextOrder()
			}
		case t.status == running:
			s.moreToStart(t)
			p.startReady(s)
		}
		return matches
	}
	for i := range s.parked {
		t := &s.parked[i]
		if !isNode(t) {
			continue
		}
		matches, runs := change(t)
		if runs {
			p.leavePark(s, i, hold)
		}
		return matches
	}
	for i := range s.next {
		if t := &s.next[i]; isNode(t) {
			matches, _ := change(t)
			return matches
		}
	}
	return false
}

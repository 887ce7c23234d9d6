// each: a node that runs once per element of a list, as a sliding window
// (GraphSpec §7). It is one step and one visit; its output is the list of the
// elements' outputs in element order.

package machine

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
)

// eachState is the progress of such a node: what it holds grows with the window
// and the results, not with the work.
type eachState struct {
	items   []any
	results []any
	next    int   // first element that was never started
	again   []int // elements that are to run again, in the order in which they became due
	// running holds the attempts in the driver, by element.
	running map[int]*elementRun
	// attempts holds the last attempt of the elements that wait for another.
	attempts map[int]failedAttempt
	// asking holds what elements have asked people, until they run again, and
	// answered what those had asked that wait for another attempt.
	asking   map[int]*questions
	answered map[int]*questions
	size     int // of the results that the driver brought
	failed   int
	failure  *Failure // that settles the node
	// lowest is the failure of the first element, in element order, that failed:
	// what stands when all do, whichever was the last.
	lowest      *Failure
	lowestIndex int
	tolerate    bool     // continue_others, wait_all
	cut         *eachCut // what a failure or a cancellation took from the node
	// talk is what the elements added to the conversation, by element.
	talk map[int]*TalkDelta
}

// failedAttempt is an attempt of an element after which another follows, and
// when (Unix nanoseconds).
type failedAttempt struct {
	attempt int
	until   int64
}

// elementRun is one attempt of one element.
type elementRun struct {
	attempt int
	cause   *Failure   // why it was cancelled
	asked   *questions // when it ran before
	ends    int64      // when its time is over; 0: never
}

// startEach evaluates the list. Nodes that the machine evaluates itself are done
// at once; of the others, elements are started as there is room.
func (p *Plan) startEach(s *State, t *task, n *node) {
	s.setOwn(n, t)
	value, err := s.vm.Eval(n.each, s.env)
	if err != nil {
		p.failFinal(s, t, &Failure{Kind: "expression", Message: "each: " + err.Error()})
		return
	}
	items, ok := value.([]any)
	if !ok {
		p.failFinal(s, t, &Failure{Kind: "invalid_input", Message: "each: " + preview(value, 60) + " is no list"})
		return
	}
	policy := p.policyOf(t.node)
	t.each = &eachState{
		items: items, results: make([]any, len(items)), running: map[int]*elementRun{}, attempts: map[int]failedAttempt{},
		asking: map[int]*questions{}, answered: map[int]*questions{},
		tolerate: policy == "continue_others" || policy == "wait_all",
	}
	switch {
	case len(items) == 0:
		p.eachDone(s, t)
	case n.act == actSet:
		p.setEach(s, t, n)
	case n.act == actPass:
		copy(t.each.results, items)
		p.eachDone(s, t)
	default:
		s.makeReady(t)
	}
}

// setEach evaluates a set node for every element. Elements do not see each
// other's writes; these are reduced in element order.
func (p *Plan) setEach(s *State, t *task, n *node) {
	e := t.each
	t.writes = t.writes[:0]
	sum := newUpdates(p)
	for i := range e.items {
		s.setElement(e, i)
		out := make(map[string]any, len(n.set))
		failure := p.assignAll(s, n, func(key int, w write) {
			out[p.keys[key].name] = w.update
			sum.add(key, w)
		})
		if failure == nil && sum.size > s.limits.MaxStateBytes {
			failure = s.overLimit("what the elements write")
			e.tolerate = false
		}
		if failure != nil {
			failure.Node = n.id
			if !p.elementFailed(s, t, i, failure) {
				p.failFinal(s, t, e.failure)
				return
			}
			continue
		}
		e.results[i] = out
	}
	t.writes = sum.writes(t.writes)
	p.eachDone(s, t)
}

// setElement sets item and index.
func (s *State) setElement(e *eachState, i int) {
	s.env["item"], s.env["index"] = e.items[i], i
}

// started says how far the elements of a node got under way. The zero value is
// unset.
type started int

const (
	allStarted started = iota + 1
	ownLimit           // as many run as the node lets run at once
	noRoom             // as many tasks run as the run lets run at once
)

// startElements hands elements to the driver while there is room.
func (p *Plan) startElements(s *State, t *task) started {
	e, n := t.each, &p.nodes[t.node]
	for len(e.again) > 0 || e.next < len(e.items) {
		switch {
		case n.act == actHuman:
			p.askElement(s, t, e.next)
			e.next++
		case s.runningTasks >= s.limits.MaxConcurrency:
			return noRoom
		case n.atOnce > 0 && len(e.running) >= n.atOnce:
			return ownLimit
		default:
			p.startElement(s, t)
		}
		if e.failure != nil {
			return allStarted
		}
	}
	return allStarted
}

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

func (s *State) cancelElements(t *task, why string) {
	e := t.each
	e.cutOff().keep(e)
	e.next, e.again = len(e.items), nil
	s.forgetInside(t)
	clear(e.attempts)
	clear(e.asking)
	for _, i := range sortedElements(e.running) {
		run := e.running[i]
		if run.cause == nil {
			run.cause = &Failure{Kind: "cancelled", Message: why}
			s.command(Command{Kind: CancelTask, Task: s.elementID(t, i, run.attempt)})
		}
	}
}

func sortedElements(running map[int]*elementRun) []int {
	out := make([]int, 0, len(running))
	for i := range running { //lint:ignore mapiter sorted below
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// eachSettle says how the node stands after a change: it may have room for more
// elements, wait for retry delays only, or be done.
func (p *Plan) eachSettle(s *State, t *task) {
	e := t.each
	if len(e.running) > 0 || len(e.again) > 0 || e.next < len(e.items) {
		return
	}
	if t.status == ready {
		s.readyTasks--
	}
	switch {
	case t.cause != nil:
		t.status = dropped
		s.memory.keepPartial(t.node, e.results)
		s.cutShort(t)
		s.showPartial(t.node)
	case e.failure != nil:
		if slices.ContainsFunc(e.results, func(result any) bool { return result != nil }) {
			s.memory.keepPartial(t.node, e.results)
		}
		p.failFinal(s, t, e.failure)
	case len(e.attempts) > 0:
		t.status = delayed
		s.waitingTasks++
	case len(e.asking) > 0:
		t.status = asking
		s.waitingTasks++
	default:
		p.eachDone(s, t)
	}
}

// eachDone ends the node well.
func (p *Plan) eachDone(s *State, t *task) {
	before := p.listen(s, t, t.each.allSaid())
	p.succeed(s, t, t.each.results)
	if t.status != succeeded {
		t.thread = before
	}
}

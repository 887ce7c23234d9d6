// each: a node that runs once per element of a list, as a sliding window
// (GraphSpec §7). It is one step and one visit; its output is the list of the
// elements' outputs in element order.

package machine

import (
	"slices"
	"strconv"
)

// eachState is the progress of such a node: what it holds grows with the window
// and the results, not with the work.
type eachState struct {
	items   []any
	results []any
	next    int   // first element that was never started
	again   []int // elements whose retry delay is over, in order of their timers
	// running holds the attempts in the driver, by element.
	running map[int]*elementRun
	// attempts holds the last attempt of the elements that wait for another.
	attempts map[int]int
	failed   int
	failure  *Failure // that settles the node
	// lowest is the failure of the first element, in element order, that failed:
	// what stands when all do, whichever was the last.
	lowest      *Failure
	lowestIndex int
	tolerate    bool // continue_others, wait_all
	// talk is what the elements added to the conversation, by element.
	talk map[int]*TalkDelta
}

// elementRun is one attempt of one element.
type elementRun struct {
	attempt int
	cause   *Failure // why it was cancelled
}

// startEach evaluates the list. Nodes that the machine evaluates itself are done
// at once; of the others, elements are started as there is room.
func (p *Plan) startEach(s *State, t *task, n *node) {
	s.setContext(n.uses, t)
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
		items: items, results: make([]any, len(items)), running: map[int]*elementRun{}, attempts: map[int]int{},
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
			sum.add(key, w.update)
		})
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

// startElements hands elements to the driver while there is room. It reports
// whether all that can be started is.
func (p *Plan) startElements(s *State, t *task) bool {
	e := t.each
	for len(e.again) > 0 || e.next < len(e.items) {
		if s.runningTasks >= s.limits.MaxConcurrency {
			return false
		}
		i, attempt := e.next, 1
		if len(e.again) > 0 {
			i = e.again[0]
			attempt = e.attempts[i] + 1
			e.again = e.again[1:]
			delete(e.attempts, i)
		} else {
			e.next++
		}
		p.startElement(s, t, i, attempt)
		if e.failure != nil {
			return true
		}
	}
	return true
}

func (p *Plan) startElement(s *State, t *task, i, attempt int) {
	e := t.each
	s.setElement(e, i)
	id := s.elementID(t, i, attempt)
	work, failure := p.work(s, t, i)
	if failure != nil {
		p.elementFailed(s, t, i, failure)
		return
	}
	e.running[i] = &elementRun{attempt: attempt}
	s.runningTasks++
	s.command(Command{Kind: RunTask, Task: id, Work: work})
	if work.Timeout > 0 {
		s.command(Command{Kind: StartTimer, Timer: TaskTimer, Task: id, For: work.Timeout})
	}
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
	s.countChild(ev.Child)
	if p.timeoutOf(t.node) > 0 {
		s.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: ev.Task})
	}
	failure := ev.Failure
	switch {
	case run.cause != nil && run.cause.Kind == "cancelled":
		p.eachSettle(s, t)
		return true
	case run.cause != nil:
		failure = run.cause
	}
	n := &p.nodes[t.node]
	if failure == nil {
		failure = p.checkElement(n, i, ev.Output, e)
	}
	if failure == nil && n.talk.joins {
		e.said(i, talkOf(ev, n))
	}
	if failure != nil {
		own := *failure
		own.Node, own.Attempt = n.id, run.attempt
		if delay, attempts, again := p.retryDelay(s, t, i, run.attempt, &own); again && e.failure == nil {
			e.attempts[i] = run.attempt
			s.noteRetrying(t, &own, attempts, delay)
			s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: ev.Task, For: delay})
		} else {
			p.elementFailed(s, t, i, &own)
		}
	}
	p.eachSettle(s, t)
	return true
}

// checkElement checks an element's output against the node's schema and keeps it.
func (p *Plan) checkElement(n *node, i int, output any, e *eachState) *Failure {
	if n.schema != nil {
		output = n.schema.Normalise(output)
		if err := n.schema.Check(output); err != nil {
			return &Failure{Kind: "invalid_output", Message: "output does not fit its schema: " + err.Error()}
		}
	}
	e.results[i] = output
	return nil
}

// elementFailed applies the failure policy to an element; false means that the
// node fails with it, and that the other elements are cancelled.
func (p *Plan) elementFailed(s *State, t *task, i int, failure *Failure) bool {
	e := t.each
	e.failed++
	failure.Message = "element " + strconv.Itoa(i) + ": " + failure.Message
	if e.lowest == nil || i < e.lowestIndex {
		e.lowest, e.lowestIndex = failure, i
	}
	if e.tolerate && e.failed < len(e.items) {
		s.degraded = true
		if p.policyOf(t.node) == "wait_all" {
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
	e.next, e.again = len(e.items), nil
	clear(e.attempts)
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
	case e.failure != nil:
		p.failFinal(s, t, e.failure)
	case len(e.attempts) > 0:
		t.status = delayed
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

// elementDue lets an element whose retry delay is over run again. A node that
// was parked meanwhile joins the next superstep.
func (p *Plan) elementDue(s *State, id TaskID) bool {
	match := func(t *task) bool {
		return t.each != nil && t.visit == id.Visit && p.nodes[t.node].id == id.Node &&
			t.each.attempts[id.Element-1] == id.Attempt && !slices.Contains(t.each.again, id.Element-1)
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.open || !match(t) {
			continue
		}
		t.each.again = append(t.each.again, id.Element-1)
		switch t.status {
		case delayed:
			t.due = true
		case running:
			s.makeReady(t)
			s.nextReady = min(s.nextReady, i)
			p.startReady(s)
		}
		return true
	}
	for i := range s.parked {
		if t := &s.parked[i]; match(t) {
			t.each.again = append(t.each.again, id.Element-1)
			s.next = append(s.next, *t)
			s.parked = slices.Delete(s.parked, i, i+1)
			s.mixed = true
			p.resumeIdle(s)
			return true
		}
	}
	for i := range s.next {
		if t := &s.next[i]; match(t) {
			t.each.again = append(t.each.again, id.Element-1)
			return true
		}
	}
	return false
}

// updates gathers the writes of many elements: where a reducer allows, those to
// one key become one.
type updates struct {
	plan  *Plan
	keys  []int
	byKey map[int][]any
}

func newUpdates(p *Plan) *updates { return &updates{plan: p, byKey: map[int][]any{}} }

func (u *updates) add(key int, update any) {
	list, seen := u.byKey[key]
	if !seen {
		u.keys = append(u.keys, key)
	}
	switch u.plan.keys[key].reducer {
	case reduceReplace:
		u.byKey[key] = append(list[:0], update)
	case reduceAppend, reduceUnion:
		u.byKey[key] = append(list, listOf(update)...)
	default:
		u.byKey[key] = append(list, update)
	}
}

// writes appends the gathered writes, keys in the order of their first write.
func (u *updates) writes(dst []write) []write {
	for _, key := range u.keys {
		list := u.byKey[key]
		switch u.plan.keys[key].reducer {
		case reduceAppend, reduceUnion:
			dst = append(dst, write{key: key, update: list})
		default:
			for _, update := range list {
				dst = append(dst, write{key: key, update: update})
			}
		}
	}
	return dst
}

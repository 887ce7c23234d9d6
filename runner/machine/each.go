// each: a node that runs once per element of a list, as a sliding window
// (GraphSpec §7). It is one step and one visit; its output is the list of the
// elements' outputs in element order.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

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
	sum := newUpdates(p)
	for i := range e.items {
		s.setElement(e, i)
		out := make(map[string]any, len(n.set))
		var failure *Failure
		if t.writes, failure = p.assignAll(s, n, t.writes[:0]); failure == nil { // else the element writes nothing
			for _, w := range t.writes {
				out[p.keys[w.key].name] = w.update
				sum.add(w)
			}
		}
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
	t.writes = sum.writes(t.writes[:0])
	p.eachDone(s, t)
}

// setElement sets item and index.
func (s *State) setElement(e *eachState, i int) {
	s.env["item"], s.env["index"] = e.items[i], i
}

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

func (b *builder) checkEach(g *spec.Graph) {
	for _, n := range g.Nodes {
		if !n.Each.IsSet() {
			continue
		}
		switch kind := n.Kind.Value; kind {
		case "wait", "fail":
			b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
		}
	}
}

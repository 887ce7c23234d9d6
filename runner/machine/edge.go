// Edge resolution: which edges fire after a node (GraphSpec §6).

package machine

import (
	"slices"
	"strconv"
)

// route is an edge that fired, or a dynamic target.
type route struct {
	task  int // index in State.tasks
	edge  int // -1 for a dynamic target
	to    int // node, or endNode
	input any
	own   bool // the input is the target's own: it is not merged with others
}

type savedRoute struct {
	Task  int  `json:"task"`
	Edge  int  `json:"edge"`
	To    int  `json:"to"`
	Input any  `json:"input,omitempty"`
	Own   bool `json:"own,omitempty"`
}

// route resolves the edges of a finished task. It returns how the run ends, if
// it does. A task that needs a router's answer is routed when it has it.
func (p *Plan) route(s *State, i int) (how *ending) {
	t := &s.tasks[i]
	n := &p.nodes[t.node]
	t.firstRoute, t.lastRoute = len(s.routes), len(s.routes)
	if t.status != succeeded && t.status != failed {
		return nil
	}
	if len(n.watches) > 0 && t.step > 0 { // what was refused a visit was not there
		if how := p.forbidden(s, t); how != nil {
			return how
		}
	}
	done := false
	if t.status == succeeded { // and may fail for what it says of its targets
		how, done = p.dynamic(s, i, n)
	}
	switch {
	case done:
	case t.status == succeeded:
		how = p.routeSuccess(s, i, n)
	default:
		how = p.routeFailure(s, i, n)
	}
	if n.all {
		// priorities say what is tried first; branches are in the order of the file
		slices.SortStableFunc(s.routes[t.firstRoute:], func(a, b route) int { return a.edge - b.edge })
	}
	t.lastRoute = len(s.routes)
	return how
}

func (p *Plan) routeSuccess(s *State, i int, n *node) *ending {
	t := &s.tasks[i]
	if t.skipped {
		return p.fireAll(s, i, n.plain, true)
	}
	fired, how := p.firstMatch(s, i, n.conditional, n.all)
	if how != nil || fired {
		return how
	}
	if len(n.decide) > 0 {
		return p.decide(s, i, n)
	}
	return p.fireAll(s, i, n.plain, true)
}

func (p *Plan) routeFailure(s *State, i int, n *node) *ending {
	fired, how := p.firstMatch(s, i, n.failWhen, n.all)
	if how != nil {
		return how
	}
	switch {
	case fired:
	case len(n.failPlain) > 0:
		how = p.fireAll(s, i, n.failPlain, false)
	case len(n.always) > 0:
		how = p.fireAll(s, i, n.always, false)
	case s.tasks[i].failure.Kind == "expression":
		return propagate(s.tasks[i].failure)
	default:
		s.tasks[i].uncaught = true
		return nil
	}
	s.degraded = true
	return how
}

// propagate is how a failure that nothing caught ends the run.
func propagate(failure *Failure) *ending {
	how := &ending{status: Failed, reason: "node_failed", failure: failure}
	switch failure.Kind {
	case "max_visits", "budget":
		how.status, how.reason = Limit, failure.Kind
	case "limit":
		how.status, how.reason = Limit, "size"
	case "expression", "policy", "conflict":
		how.reason = failure.Kind
	}
	return how
}

// firstMatch fires the first edge whose condition holds, or every such edge
// when all is set. The edges of one declaration fire together.
func (p *Plan) firstMatch(s *State, i int, edges []int, all bool) (fired bool, how *ending) {
	decl := -1
	for _, at := range edges {
		e := &p.edges[at]
		if fired && !all && e.spec.Decl != decl {
			break
		}
		if !fired || all || e.spec.Decl != decl {
			s.setContext(e.uses, &s.tasks[i])
			s.explain(i, at)
			match, err := s.vm.Test(e.when, s.env)
			if err != nil {
				return fired, p.edgeError(s, i, at, "when", err)
			}
			if !match {
				continue
			}
		}
		if how := p.fire(s, i, at); how != nil {
			return fired, how
		}
		fired, decl = true, e.spec.Decl
	}
	return fired, nil
}

// fireAll fires every edge; none at all leaves the run stuck.
func (p *Plan) fireAll(s *State, i int, edges []int, mustFire bool) *ending {
	if len(edges) == 0 && mustFire {
		return p.stuck(s, i)
	}
	s.routes = slices.Grow(s.routes, len(edges))
	for _, at := range edges {
		if how := p.fire(s, i, at); how != nil {
			return how
		}
	}
	return nil
}

// fire takes an edge: its transform makes the target's input.
func (p *Plan) fire(s *State, i, at int) *ending {
	e := &p.edges[at]
	t := &s.tasks[i]
	input := t.output
	if t.status == failed {
		input = failureData(t.failure)
	}
	if e.transform != nil {
		s.setContext(e.uses, t)
		value, err := e.transform.Eval(&s.vm, s.env)
		if err != nil {
			return p.edgeError(s, i, at, "transform", err)
		}
		input = value
	}
	s.memory.take(at)
	s.routes = append(s.routes, route{}) // filled in its place, as writes are
	r := &s.routes[len(s.routes)-1]
	r.task, r.edge, r.to, r.input = i, at, e.to, input
	return nil
}

// edgeError ends the run: a condition that errors is never just false.
func (p *Plan) edgeError(s *State, i, at int, what string, err error) *ending {
	e := &p.edges[at]
	index := e.spec.Index
	source := e.spec.When.Value
	if what == "transform" {
		source = ""
	} else {
		source = " " + strconv.Quote(source)
	}
	return &ending{status: Failed, reason: "expression", failure: &Failure{
		Kind: "expression", Node: p.nodes[s.tasks[i].node].id, Attempt: s.tasks[i].attempt, Edge: &index,
		Message: "edge " + e.spec.From.Value + " → " + e.spec.To.Value + ": " + what + source + ": " + err.Error() +
			s.valuesOf(e),
		Details: map[string]any{"when": e.spec.When.Value, "values": s.readValues(e)},
	}}
}

// stuck ends the run because no edge fired, with every candidate and why.
func (p *Plan) stuck(s *State, i int) *ending {
	t := &s.tasks[i]
	n := &p.nodes[t.node]
	message := "no edge fires after node " + strconv.Quote(n.id)
	if t.skipped {
		message += ", which was skipped at its visit limit (only unconditional edges are tried)"
	}
	return &ending{status: Stuck, reason: "no_edge", failure: &Failure{
		Kind: "stuck", Node: n.id, Attempt: t.attempt, Message: message,
		Candidates: p.candidates(s, i), OutputPreview: preview(Plain(t.output), 200),
	}}
}

// decide asks the router which llm_decide edge to take; a single candidate
// fires without being asked for.
func (p *Plan) decide(s *State, i int, n *node) *ending {
	t := &s.tasks[i]
	if t.choice == nil && len(n.decide) == 1 {
		return p.fire(s, i, n.decide[0])
	}
	if t.choice != nil {
		return p.decideBy(s, i, n, t.choice)
	}
	t.waitsFor = true
	s.deciding++
	s.command(Command{Kind: Decide, Task: s.taskID(t), Choice: p.choiceOf(s, t)})
	return nil
}

// choiceOf is the decision that a router is asked for.
func (p *Plan) choiceOf(s *State, t *task) *Choice {
	choice := &Choice{Goal: s.goal, Output: Plain(t.output), Log: s.logs[s.taskID(t)], Turns: t.earlierTurns()}
	n := p.Graph.Nodes[t.node]
	if n.Decide != nil {
		choice.Instructions = n.Decide.Instructions.Value
		for _, key := range n.Decide.See {
			if value, has := s.Value(key.Value); has {
				choice.See = append(choice.See, KeyValue{key.Value, Plain(value)})
			}
		}
	}
	for _, at := range p.nodes[t.node].decide {
		e := p.edges[at].spec
		description := e.Description.Value
		if target := p.Graph.Node(e.To.Value); description == "" && target != nil {
			description = target.Description.Value
		}
		choice.Candidates = append(choice.Candidates, Option{Edge: at, Target: e.To.Value, Description: description})
	}
	return choice
}

// decideBy follows a router's answer, or the fallback when it has none.
func (p *Plan) decideBy(s *State, i int, n *node, c *choice) *ending {
	if c.edge >= 0 {
		return p.fire(s, i, c.edge)
	}
	for _, at := range n.out {
		e := p.edges[at].spec
		if e.Fallback && (e.Condition == "llm_decide" || e.Condition == "on_success") {
			s.degraded = true
			return p.fire(s, i, at)
		}
	}
	how := p.stuck(s, i)
	how.failure.Message += ": the decision failed (" + c.failure.Message + ") and no edge is marked fallback"
	return how
}

// decided takes a router's answer.
func (p *Plan) decided(s *State, e *Event) {
	if s.deciding == 0 {
		return
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if !t.waitsFor || t.choice != nil || s.taskID(t) != e.Task {
			continue
		}
		s.Effect = Applied
		t.choice = p.choose(t, e)
		delete(s.logs, e.Task)
		s.deciding--
		if how := p.route(s, i); how != nil {
			p.noteClosed(s)
			p.finish(s, *how)
			return
		}
		break
	}
	if s.deciding == 0 {
		p.moveOn(s)
	}
}

// choose finds the edge that a router named.
func (p *Plan) choose(t *task, e *Event) *choice {
	c := &choice{edge: -1, failure: e.Failure, reasoning: e.Reasoning}
	if e.Failure != nil {
		return c
	}
	for _, at := range p.nodes[t.node].decide {
		if p.edges[at].spec.To.Value == e.Target {
			c.edge = at
			return c
		}
	}
	c.failure = &Failure{Kind: "llm", Message: "the router named " + strconv.Quote(e.Target) + ", which is no candidate"}
	return c
}

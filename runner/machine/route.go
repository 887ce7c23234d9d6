// Edge resolution: which edges or labels fire after a step (GraphSpec §6).

package machine

import (
	"slices"
	"strconv"
	"strings"
)

// routing is the result of edge resolution: targets, an end of the scope, or a question to the router.
// If all are empty, no edge handles the failure of the step.
type routing struct {
	targets []target
	end     *End
	asks    bool
	tests   []conditionTest
}

// resolveEdges resolves the edges of a finished step.
func (t *Task) resolveEdges() (out routing) {
	n := t.node()
	if len(n.watches) > 0 && t.Failure == nil {
		if end := t.checkForbidden(n); end != nil {
			return routing{end: end}
		}
	}
	switch {
	case t.Failure != nil:
		out = t.routeFailure(n)
	case t.Skipped:
		out = t.fireEdges(n.plain, routing{})
	default:
		out = t.routeSuccess(n)
	}
	if out.end == nil && !out.asks && len(out.targets) == 0 && t.Failure == nil {
		out.end = t.newStuckEnd(n, out.tests)
	}
	if n.decl.Routing == "all" { // edges are tried by priority, but branches have declaration order
		slices.SortStableFunc(out.targets, func(a, b target) int { return a.edge - b.edge })
	}
	if !out.asks {
		t.noteRouted(n, out)
		for _, to := range out.targets {
			if to.edge >= 0 {
				t.scope.Fired[to.edge]++
			}
		}
	}
	t.scope.state.routes = out.targets[:0]
	return out
}

func (t *Task) routeSuccess(n *node) routing {
	targets, dynamic, failure := t.evalTargets(n, t.Output, nil)
	switch {
	case failure != nil:
		failure.Node = n.id
		return routing{end: &End{Status: Failed, Reason: failure.Kind, Failure: failure}}
	case dynamic:
		return routing{targets: targets}
	}
	out := t.fireMatches(n.conditional, n.decl.Routing == "all")
	if out.end != nil || len(out.targets) > 0 {
		return out
	}
	if len(n.decide) > 0 {
		return t.fireChosenEdge(n, out)
	}
	return t.fireEdges(n.plain, out)
}

func (t *Task) routeFailure(n *node) routing {
	out := t.fireMatches(n.failWhen, n.decl.Routing == "all")
	switch {
	case out.end != nil || len(out.targets) > 0:
	case len(n.failPlain) > 0:
		out = t.fireEdges(n.failPlain, out)
	case len(n.always) > 0:
		out = t.fireEdges(n.always, out)
	case t.Failure.Kind == "expression":
		out.end = failureEnd(t.Failure)
	}
	return out
}

// fireMatches fires the first edge whose condition is true, or all such edges. Edges of one declaration
// fire together.
func (t *Task) fireMatches(edges []int, all bool) (out routing) {
	p, s := t.scope.plan, t.scope.state
	out.targets = s.routes[:0]
	decl := -1
	for _, at := range edges {
		e := &p.edges[at]
		fired := len(out.targets) > 0
		if fired && !all && e.spec.Decl != decl {
			break
		}
		if !fired || all || e.spec.Decl != decl {
			env := t.view().buildContext(t, e.uses)
			if s.Explain {
				out.tests = append(out.tests, conditionTest{at, s.vm.Explain(e.when, env, p.formatValueAt)})
			}
			match, err := s.vm.Test(e.when, env)
			if err != nil {
				out.end = t.edgeError(at, "when", err)
				return out
			}
			if !match {
				continue
			}
		}
		if out.end = t.fireEdge(&out, at); out.end != nil {
			return out
		}
		decl = e.spec.Decl
	}
	return out
}

func (t *Task) fireEdges(edges []int, out routing) routing {
	out.targets = slices.Grow(out.targets, len(edges))
	for _, at := range edges {
		if out.end = t.fireEdge(&out, at); out.end != nil {
			return out
		}
	}
	return out
}

// fireEdge adds the target of an edge. The edge's transform computes the target's input.
func (t *Task) fireEdge(out *routing, at int) *End {
	p := t.scope.plan
	e := &p.edges[at]
	if e.to == endNode || p.nodes[e.to].act != actSet || p.readsInputs {
		t.output()
	}
	input := t.Output
	if t.Failure != nil {
		input = failureData(t.Failure)
	}
	if e.transform != nil {
		value, err := e.transform.Eval(&t.scope.state.vm, t.view().buildContext(t, e.uses))
		if err != nil {
			return t.edgeError(at, "transform", err)
		}
		input = value
	}
	out.targets = append(out.targets, target{to: e.to, input: input, edge: at})
	return nil
}

// edgeError returns an end of the scope. An expression that can't be evaluated does not count as false.
func (t *Task) edgeError(at int, what string, err error) *End {
	e := &t.scope.plan.edges[at]
	index, source := e.spec.Index, ""
	if what == "when" {
		source = " " + strconv.Quote(e.spec.When.Value)
	}
	env := t.view().buildContext(t, e.uses)
	return failureEnd(&Failure{
		Kind: "expression", Node: t.node().id, Attempt: t.attemptNumber(), Edge: &index,
		Message: "edge " + e.spec.From.Value + " → " + e.spec.To.Value + ": " + what + source + ": " + err.Error() +
			t.scope.plan.describeValues(e, env),
		Details: map[string]any{"when": e.spec.When.Value, "values": readValues(e, env)},
	})
}

// attemptNumber returns the attempt number of a step without `each`.
func (t *Task) attemptNumber() int {
	if t.Each == nil && len(t.Units) == 1 {
		return t.Units[0].Attempt
	}
	return 1
}

// newStuckEnd returns the end of a scope where no edge fired. The failure lists every candidate.
func (t *Task) newStuckEnd(n *node, tests []conditionTest) *End {
	message := "no edge fires after node " + strconv.Quote(n.id)
	if t.Skipped {
		message += ", which was skipped at its visit limit (only unconditional edges are tried)"
	}
	if t.Choice != nil && t.Choice.Failure != nil {
		message += ": the decision failed (" + t.Choice.Failure.Message + ") and no edge is marked fallback"
	}
	return &End{Status: Stuck, Reason: "no_edge", Failure: &Failure{
		Kind: "stuck", Node: n.id, Attempt: t.attemptNumber(), Message: message,
		Candidates: t.explainEdges(n, routing{tests: tests}, true), OutputPreview: previewValue(t.output(), 200),
	}}
}

// fireChosenEdge fires the chosen llm_decide edge, or asks the router if there are several.
func (t *Task) fireChosenEdge(n *node, out routing) routing {
	switch {
	case t.Choice == nil && len(n.decide) == 1:
		out.end = t.fireEdge(&out, n.decide[0])
	case t.Choice == nil:
		out.asks = true
	case t.Choice.Edge >= 0:
		out.end = t.fireEdge(&out, t.Choice.Edge)
	default:
		for _, at := range n.out {
			e := t.scope.plan.edges[at].spec
			if e.Fallback && (e.Condition == "llm_decide" || e.Condition == "on_success") {
				t.scope.Degraded = true
				out.end = t.fireEdge(&out, at)
				break
			}
		}
	}
	return out
}

// maxTrail is how many nodes of the past a router sees.
const maxTrail = 200

func (t *Task) newChoice() *Choice {
	sc := t.scope
	v := t.view()
	back := v.applyTask(t)
	defer v.revertTask(t, back)
	c := &Choice{
		Place: t.place(), Graph: sc.plan, Output: t.output(), Log: t.Notes, Turns: t.Calls.Earlier,
		Trail: append(sc.pastNodes(t, maxTrail-1), sc.plan.nodes[t.Node].id),
	}
	n := sc.plan.Graph.Nodes[t.Node]
	if n.Decide != nil {
		c.Instructions = n.Decide.Instructions.Value
		for _, key := range n.Decide.See {
			if i, ok := sc.plan.keyOf[key.Value]; ok && v.Vals[i] != absent {
				c.See = append(c.See, KeyValue{key.Value, v.Vals[i]})
			}
		}
	}
	for _, at := range sc.plan.nodes[t.Node].decide {
		e := sc.plan.edges[at].spec
		description := e.Description.Value
		if to := sc.plan.Graph.Node(e.To.Value); description == "" && to != nil {
			description = to.Description.Value
		}
		c.Candidates = append(c.Candidates, Option{Target: e.To.Value, Description: description})
	}
	return c
}

// pastNodes returns the last nodes of a task's past in path order, at most `most`.
func (sc *Scope) pastNodes(t *Task, most int) []string {
	var before []PathStep
	v := t.view()
	for ; v.Base != 0; v = v.base {
		for _, d := range v.Done {
			if !d.Refused && d.Task != t.ID {
				before = append(before, PathStep{d.Node, d.Rank, d.Order})
			}
		}
	}
	split := t.Rank - 1 // rank of the outermost split: all branches share the steps before it
	for _, lane := range t.Lanes {
		if f := sc.findFan(lane.Fan); f != nil {
			split = min(split, f.Rank)
		}
	}
	for step := range sc.Steps.visitSteps() {
		if step.Rank <= split {
			before = append(before, step)
		}
	}
	nodes := sc.nodesInPathOrder(before)
	return nodes[max(0, len(nodes)-most):]
}

func (s *State) handleDecision(t *Task, e *Event) {
	if t == nil || !t.Deciding {
		return
	}
	n := t.node()
	c := &Chosen{Edge: -1, Failure: e.Failure, Reasoning: e.Reasoning}
	if e.Failure == nil {
		for _, at := range n.decide {
			if t.scope.plan.edges[at].spec.To.Value == e.Target {
				c.Edge = at
			}
		}
		if c.Edge < 0 {
			c.Failure = &Failure{Kind: "llm", Message: "the router named " + strconv.Quote(e.Target) + ", which is not a candidate"}
		}
	}
	t.Choice, t.Deciding, t.Notes = c, false, nil
	t.applyStep()
}

// target is the target of a goto or an edge.
type target struct {
	to    int
	input any
	edge  int // -1: none
}

// evalTargets returns the targets of a goto in the output or of the node's `goto`. Without a goto ok is
// false, and edges decide. The expression reads the state after the step's writes.
func (t *Task) evalTargets(n *node, output any, writes []Write) (out []target, ok bool, failure *Failure) {
	var value any
	if n.bound.Goto != nil {
		var err error
		if value, err = t.evalGoto(n, writes); err != nil {
			return nil, false, expressionFailure("goto: ", err)
		}
	} else if object, is := output.(map[string]any); is && n.decl.HasEnds {
		value = object["goto"]
	}
	items, isList := value.([]any)
	if !isList && value != nil {
		items = []any{value}
	}
	for _, item := range items {
		to, failure := t.scope.plan.readTarget(n, item, output)
		if failure != nil {
			return nil, false, failure
		}
		out = append(out, to)
	}
	return out, len(out) > 0, nil
}

// evalGoto evaluates the goto expression on the state after the writes.
func (t *Task) evalGoto(n *node, writes []Write) (any, error) {
	v := t.view()
	if len(writes) == 0 || t.Done {
		return t.scope.state.vm.Eval(n.bound.Goto, t.nodeContext(n))
	}
	defer v.rollBack(v.changeMark())
	for i := range writes {
		v.applyWrite(&writes[i])
	}
	return t.scope.state.vm.Eval(n.bound.Goto, t.nodeContext(n))
}

// readTarget reads a label, or an object {to, input}. The default input is the output.
func (p *Plan) readTarget(n *node, item, output any) (target, *Failure) {
	t := target{edge: -1, input: output}
	label, ok := item.(string)
	if object, isObject := item.(map[string]any); isObject {
		label, ok = object["to"].(string)
		if input, has := object["input"]; has {
			t.input = input
		}
	}
	if !ok {
		return t, &Failure{Kind: "invalid_output", Message: "goto " + previewValue(item, 60) +
			" is not a label; allowed: a label, or {to: label, input: value}"}
	}
	to, known := n.ends[label]
	if !n.decl.HasEnds {
		to, known = p.findTarget(label)
	}
	if !known {
		wanted := "a node"
		if n.decl.HasEnds {
			wanted = "a label of ends; allowed: " + strings.Join(n.labels(), ", ")
		}
		return t, &Failure{Kind: "invalid_output", Message: "goto names " + strconv.Quote(label) + ", which is not " + wanted}
	}
	t.to = to
	return t, nil
}

// labels returns the labels of the node's ends, in declaration order.
func (n *node) labels() []string {
	out := make([]string, len(n.decl.Ends))
	for i := range out {
		out[i] = n.decl.Ends[i].Label.Value
	}
	return out
}

func (p *Plan) findTarget(id string) (int, bool) {
	if id == "END" {
		return endNode, true
	}
	if n := p.Graph.Node(id); n != nil && !n.Final {
		return n.Index, true
	}
	return 0, false
}

// Dynamic routing: goto and ends (GraphSpec §6).

package machine

import (
	"slices"
	"strconv"
	"strings"
)

// target is where a goto leads.
type target struct {
	to       int
	input    any
	hasInput bool
}

// dynamic routes a task by its goto. done is false when the node has none and
// its edges are to be consulted. A goto that names no legal label turns the
// success into a failure.
func (p *Plan) dynamic(s *State, i int, n *node) (how *ending, done bool) {
	t := &s.tasks[i]
	if t.skipped || n.gotoExpr == nil && !n.hasEnds {
		return nil, false
	}
	var targets []target
	var failure *Failure
	if n.gotoExpr != nil {
		s.setOwn(n, t)
		value, err := s.vm.Eval(n.gotoExpr, s.env)
		if err != nil {
			return &ending{status: Failed, reason: "expression", failure: &Failure{
				Kind: "expression", Node: n.id, Attempt: t.attempt, Message: "goto: " + err.Error(),
			}}, true
		}
		targets, failure = p.targets(n, value)
	} else {
		targets, failure = p.outputTargets(n, t.output)
	}
	if failure != nil {
		failure.Node, failure.Attempt = n.id, t.attempt
		t.status, t.failure = failed, failure
		s.noteFailed(t)
		s.showEnd(t)
		return nil, false
	}
	if len(targets) == 0 {
		return nil, false
	}
	for _, target := range targets {
		input := t.output
		if target.hasInput {
			input = target.input
		}
		s.routes = append(s.routes, route{task: i, edge: -1, to: target.to, input: input, own: target.hasInput})
	}
	return nil, true
}

// checkGoto evaluates a node's goto on the state after its writes, before they are applied.
// A failure fails the attempt, which then writes nothing and can be retried.
func (p *Plan) checkGoto(s *State, t *task, n *node) (failure *Failure) {
	var undo []undone
	for i := range t.writes {
		w := &t.writes[i]
		undo = append(undo, s.swap(p, w.key, p.preview(s, w)))
	}
	s.setOwn(n, t)
	value, err := s.vm.Eval(n.gotoExpr, s.env)
	for i := len(undo) - 1; i >= 0; i-- {
		s.restore(p, undo[i])
	}
	if err != nil {
		return &Failure{Kind: "expression", Message: "goto: " + err.Error()}
	}
	_, failure = p.targets(n, value)
	return failure
}

// outputTargets reads the goto that a node's output carries, if it does.
func (p *Plan) outputTargets(n *node, output any) ([]target, *Failure) {
	data, ok := Plain(output).(map[string]any)
	if !ok {
		return nil, nil
	}
	return p.targets(n, data["goto"])
}

// targets reads a label, or a list of labels and {to, input} objects. Null is no goto.
func (p *Plan) targets(n *node, value any) ([]target, *Failure) {
	items, isList := value.([]any)
	if !isList {
		if value == nil {
			return nil, nil
		}
		items = []any{value}
	}
	out := make([]target, 0, len(items))
	var labels []string // without an input of their own
	for _, item := range items {
		t, failure := p.target(n, item)
		if failure != nil {
			return nil, failure
		}
		if label, ok := item.(string); ok {
			if slices.Contains(labels, label) {
				continue // once more the same branch
			}
			labels = append(labels, label)
		}
		out = append(out, t)
	}
	return out, nil
}

func (p *Plan) target(n *node, item any) (target, *Failure) {
	var t target
	label, ok := item.(string)
	if object, isObject := item.(map[string]any); isObject {
		label, ok = object["to"].(string)
		t.input, t.hasInput = object["input"]
	}
	if !ok {
		return t, &Failure{
			Kind:    "invalid_output",
			Message: "goto " + preview(item, 60) + " is no label; allowed: a label, or {to: label, input: value}",
		}
	}
	to, known := n.ends[label]
	if !n.hasEnds {
		to, known = p.nodeNamed(label)
	}
	if !known {
		message := "goto names " + strconv.Quote(label) + ", which is no label of ends"
		if n.hasEnds {
			message += "; allowed: " + strings.Join(n.endLabels, ", ")
		} else {
			message = "goto names " + strconv.Quote(label) + ", which is no node"
		}
		return t, &Failure{Kind: "invalid_output", Message: message}
	}
	t.to = to
	return t, nil
}

func (p *Plan) nodeNamed(id string) (int, bool) {
	if id == "END" {
		return endNode, true
	}
	if n := p.Graph.Node(id); n != nil && !n.Final {
		return n.Index, true
	}
	return 0, false
}

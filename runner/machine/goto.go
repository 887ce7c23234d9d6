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
	edge     int // -1: none
}

// evalTargets returns the targets of a goto, from the output or the node's `goto`. ok is
// false without a goto: then the edges decide. The expression sees the writes of the
// step.
func (t *Task) evalTargets(n *node, output any, writes []Write) (out []target, ok bool, failure *Failure) {
	sc := t.scope
	if n.gotoExpr == nil {
		if !n.hasEnds {
			return nil, false, nil
		}
		out, failure = sc.plan.outputTargets(n, output)
		return out, len(out) > 0, failure
	}
	value, err := t.evalGoto(n, writes)
	if err != nil {
		return nil, false, &Failure{Kind: "expression", Message: "goto: " + err.Error()}
	}
	if out, failure = sc.plan.targets(n, value); failure == nil && len(out) == 0 {
		return nil, false, nil
	}
	for i := range out {
		if !out[i].hasInput {
			out[i].input = output
		}
	}
	return out, true, failure
}

// evalGoto evaluates the goto expression on the state after the writes.
func (t *Task) evalGoto(n *node, writes []Write) (any, error) {
	v := t.view()
	if len(writes) == 0 || t.Done {
		return t.scope.state.vm.Eval(n.gotoExpr, t.nodeContext(n))
	}
	held, size := slices.Clone(v.Vals), v.Size
	for i := range writes {
		v.write(&writes[i])
	}
	value, err := t.scope.state.vm.Eval(n.gotoExpr, t.nodeContext(n))
	v.Vals, v.Size, v.env = held, size, nil
	return value, err
}

// outputTargets reads the `goto` of a node's output.
func (p *Plan) outputTargets(n *node, output any) ([]target, *Failure) {
	data, ok := output.(map[string]any)
	if !ok {
		return nil, nil
	}
	out, failure := p.targets(n, data["goto"])
	for i := range out {
		if !out[i].hasInput {
			out[i].input = output
		}
	}
	return out, failure
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
	for _, item := range items {
		t, failure := p.target(n, item)
		if failure != nil {
			return nil, failure
		}
		out = append(out, t)
	}
	return out, nil
}

func (p *Plan) target(n *node, item any) (target, *Failure) {
	t := target{edge: -1}
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

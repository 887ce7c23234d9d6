// Dynamic routing: goto and ends (GraphSpec §6).

package machine

import (
	"strconv"
	"strings"
)

// target is where a goto or an edge leads.
type target struct {
	to    int
	input any
	edge  int // -1: none
}

// evalTargets returns the targets of a goto in the output or of the node's `goto`. Without a goto
// ok is false, and edges decide. The expression sees the step's writes.
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

// readTarget reads a label, or an object {to, input}. Without an input it is the output.
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
		return t, &Failure{
			Kind:    "invalid_output",
			Message: "goto " + previewValue(item, 60) + " is not a label; allowed: a label, or {to: label, input: value}",
		}
	}
	to, known := n.ends[label]
	if !n.decl.HasEnds {
		to, known = p.findTarget(label)
	}
	if !known {
		message := "goto names " + strconv.Quote(label) + ", which is not a label of ends"
		if n.decl.HasEnds {
			message += "; allowed: " + strings.Join(n.labels(), ", ")
		} else {
			message = "goto names " + strconv.Quote(label) + ", which is not a node"
		}
		return t, &Failure{Kind: "invalid_output", Message: message}
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

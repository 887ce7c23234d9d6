// Explanations of why edges fired or did not.

package machine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// Candidate is one edge that was considered after a node, and why it fired or did not.
type Candidate struct {
	Edge      int    `json:"edge"`
	ID        string `json:"id,omitempty"`
	Label     string `json:"label,omitempty"`
	To        string `json:"to"`
	Condition string `json:"condition"`
	When      string `json:"when,omitempty"`
	Fired     bool   `json:"fired"`
	// Why is the reason in words: "confidence >= 0.8 is false".
	Why string `json:"why"`
	// Test holds the parts of an evaluated condition with their values, if State.Explain is set.
	Test *eval.Reason `json:"-"`
}

// MarshalJSON writes null for a missing `when`.
func (c Candidate) MarshalJSON() ([]byte, error) {
	type rest Candidate // without this method
	return eval.AppendJSON(nil, struct {
		Edge      int     `json:"edge"`
		ID        string  `json:"id,omitempty"`
		Label     string  `json:"label,omitempty"`
		To        string  `json:"to"`
		Condition string  `json:"condition"`
		When      *string `json:"when"`
		rest
	}{c.Edge, c.ID, c.Label, c.To, c.Condition, pointerOrNil(c.When), rest(c)})
}

// conditionTest is an evaluated condition with the values of its parts, for State.Explain.
type conditionTest struct {
	edge   int
	reason eval.Reason
}

// explainEdges explains the edges of a finished step, in declaration order. With values, it adds the
// values that false conditions read.
func (t *Task) explainEdges(n *node, out routing, values bool) []Candidate {
	p := t.scope.plan
	fired := func(edge int) bool {
		return slices.ContainsFunc(out.targets, func(to target) bool { return to.edge == edge })
	}
	isGoto := fired(-1)
	matched, late := false, map[int]bool{} // edges after the first that matched
	for _, at := range slices.Concat(n.conditional, n.failWhen) {
		late[at] = matched
		matched = matched || fired(at)
	}
	var list []Candidate
	for _, at := range n.out {
		e := &p.edges[at]
		c := Candidate{
			Edge: at, ID: e.spec.ID.Value, Label: e.spec.Label.Value, To: e.spec.To.Value, Condition: e.spec.Condition,
			When: e.spec.When.Value, Fired: fired(at), Why: "goto decides",
		}
		if !isGoto {
			c.Why = t.explainEdge(n, e, c.Fired, late[at])
			if i := slices.IndexFunc(out.tests, func(test conditionTest) bool { return test.edge == at }); i >= 0 && !values {
				c.Test = &out.tests[i].reason
				c.Why = c.Test.String()
			}
		}
		if values && c.When != "" && strings.HasSuffix(c.Why, falseSuffix) {
			c.Why += p.describeValues(e, t.view().buildContext(t, e.uses))
		}
		list = append(list, c)
	}
	for _, end := range n.decl.Ends {
		label := end.Label.Value
		to := n.ends[label]
		c := Candidate{Edge: -1, To: p.targetName(to), Condition: "goto", Why: "the output has no goto"}
		c.Fired = slices.ContainsFunc(out.targets, func(r target) bool { return r.edge < 0 && r.to == to })
		switch {
		case c.Fired:
			c.Why = "goto " + label
		case isGoto:
			c.Why = "goto names another label"
		case t.Failure != nil:
			c.Why = "the node failed"
		}
		list = append(list, c)
	}
	return list
}

// falseSuffix is the end of the reason of a false condition.
const falseSuffix = " is false"

func (t *Task) explainEdge(n *node, e *edge, fired, after bool) string {
	condition, failed := e.spec.Condition, t.Failure != nil
	switch {
	case t.Skipped && condition != "always" && condition != "on_success":
		return "the node was skipped"
	case failed && condition != "on_failure" && condition != "always":
		return "the node failed"
	case !failed && condition == "on_failure":
		return "the node succeeded"
	case e.when != nil && fired:
		return e.spec.When.Value + " is true"
	case e.when != nil && after && n.decl.Routing != "all":
		return "an earlier edge fired"
	case e.when != nil:
		return e.spec.When.Value + falseSuffix
	case condition == "llm_decide":
		return explainDecision(t.Choice, fired)
	case fired && t.Choice != nil && t.Choice.Failure != nil:
		return "fallback: " + t.Choice.Failure.Message
	case fired && (!failed && len(n.conditional) > 0 || failed && len(n.failWhen) > 0):
		return "else"
	case fired:
		return "unconditional"
	}
	return "another edge fired"
}

func explainDecision(c *Chosen, fired bool) string {
	switch {
	case c == nil && fired:
		return "the only candidate"
	case c == nil:
		return "a condition matched first"
	case c.Failure != nil && fired:
		return "fallback: " + c.Failure.Message
	case c.Failure != nil:
		return "the decision failed: " + c.Failure.Message
	case fired && c.Reasoning != "":
		return "chosen by the router: " + c.Reasoning
	case fired:
		return "chosen by the router"
	}
	return "not chosen by the router"
}

// describeValues lists the values that an edge's condition reads: " (n = 3, verdict = "ok")".
func (p *Plan) describeValues(e *edge, env map[string]any) string {
	values := readValues(e, env)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+" = "+p.formatValueAt([]any{name}, values[name]))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// readValues returns the values of the paths that an edge's condition reads.
func readValues(e *edge, env map[string]any) map[string]any {
	if e.when == nil {
		return nil
	}
	out := map[string]any{}
	for _, read := range e.when.Reads {
		if read.Dynamic || len(read.Path) == 0 {
			continue
		}
		var value any = env
		for _, name := range read.Path {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		out[strings.Join(read.Path, ".")] = value
	}
	return out
}

// formatValueAt formats a value that was read from a path, for people. It masks secrets.
func (p *Plan) formatValueAt(path []any, v any) string {
	name, _ := path[0].(string)
	if i, ok := p.keyOf[name]; ok && p.keys[i].decl.Secret {
		return "***"
	}
	return previewValue(v, maxShown)
}

// maxShown bounds the bytes of a value in a reason.
const maxShown = 60

// previewValue formats a value as compact JSON of at most limit bytes.
func previewValue(v any, limit int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return cutText(strconv.Quote(v), limit)
	}
	return cutText(eval.Text(v), limit)
}

func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// Why an edge fired or did not.

package machine

import (
	"slices"
	"sort"
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
	// Fired says whether the edge was taken.
	Fired bool `json:"fired"`
	// Why is the reason in words: "confidence >= 0.8 is false".
	Why string `json:"why"`
	// Test holds the parts of the condition with their values; nil when it was
	// not evaluated, or nobody asked for them (State.Explain).
	Test *eval.Reason `json:"-"`
}

// MarshalJSON prints a candidate; without a condition of its own `when` is null.
func (c Candidate) MarshalJSON() ([]byte, error) {
	type rest Candidate // without this method
	out := struct {
		Edge      int     `json:"edge"`
		ID        string  `json:"id,omitempty"`
		Label     string  `json:"label,omitempty"`
		To        string  `json:"to"`
		Condition string  `json:"condition"`
		When      *string `json:"when"`
		rest
	}{Edge: c.Edge, ID: c.ID, Label: c.Label, To: c.To, Condition: c.Condition, rest: rest(c)}
	if c.When != "" {
		out.When = &c.When
	}
	return unescaped(out)
}

// tested is a condition that was evaluated, with the values of its parts. They are kept
// only when State.Explain asks for them.
type tested struct {
	edge   int
	reason eval.Reason
}

// candidates spells out the edges of a finished step, in declaration order, with the
// reason each fired or did not. It evaluates nothing again: edges after the first match
// were not asked. With values, it says what false conditions read.
func (t *Task) candidates(n *node, out routed, values bool) []Candidate {
	p := t.scope.plan
	fired := func(edge int) bool {
		return slices.ContainsFunc(out.targets, func(to target) bool { return to.edge == edge })
	}
	dynamic := fired(-1)
	var list []Candidate
	matched := false // an edge before it, in the order of evaluation, won
	order := slices.Concat(n.conditional, n.failWhen)
	won := map[int]bool{}
	for _, at := range order {
		won[at] = matched
		matched = matched || fired(at)
	}
	for _, at := range n.out {
		e := &p.edges[at]
		c := Candidate{
			Edge: at, ID: e.spec.ID.Value, Label: e.spec.Label.Value, To: e.spec.To.Value, Condition: e.spec.Condition,
			When: e.spec.When.Value, Fired: fired(at),
		}
		if dynamic {
			c.Why = "goto decides"
		} else {
			c.Why = t.why(n, e, c.Fired, won[at])
			for i := range out.tests {
				if out.tests[i].edge == at && !values {
					c.Test = &out.tests[i].reason
					c.Why = c.Test.String()
				}
			}
		}
		if values && c.When != "" && strings.HasSuffix(c.Why, isFalse) {
			c.Why += p.valuesOf(e, t.view().context(t, e.uses))
		}
		list = append(list, c)
	}
	for _, label := range n.endLabels {
		to := n.ends[label]
		c := Candidate{Edge: -1, To: p.targetName(to), Condition: "goto", Why: "the output has no goto"}
		c.Fired = slices.ContainsFunc(out.targets, func(r target) bool { return r.edge < 0 && r.to == to })
		switch {
		case c.Fired:
			c.Why = "goto " + label
		case dynamic:
			c.Why = "goto names another label"
		case t.Failure != nil:
			c.Why = "the node failed"
		}
		list = append(list, c)
	}
	return list
}

// isFalse ends the reason of a condition that does not hold.
const isFalse = " is false"

// why returns why an edge fired or did not.
func (t *Task) why(n *node, e *edge, fired, after bool) string {
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
	case e.when != nil && after && !n.all:
		return "an earlier edge fired"
	case e.when != nil:
		return e.spec.When.Value + isFalse
	case condition == "llm_decide":
		return whyDecided(t.Choice, fired)
	case fired && t.Choice != nil && t.Choice.Failure != nil:
		return "fallback: " + t.Choice.Failure.Message
	case fired && (!failed && len(n.conditional) > 0 || failed && len(n.failWhen) > 0):
		return "else"
	case fired:
		return "unconditional"
	}
	return "another edge fired"
}

func whyDecided(c *Chosen, fired bool) string {
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

// valuesOf lists what an edge's condition read: " (n = 3, verdict = "ok")".
func (p *Plan) valuesOf(e *edge, env map[string]any) string {
	values := readValues(e, env)
	if len(values) == 0 {
		return ""
	}
	names := make([]string, 0, len(values))
	for name := range values { //lint:ignore mapiter sorted below
		names = append(names, name)
	}
	sort.Strings(names)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = name + " = " + p.readText([]any{name}, values[name])
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// readValues returns the values of the paths that an edge's condition reads.
func readValues(e *edge, env map[string]any) map[string]any {
	if e.when == nil {
		return nil
	}
	out := map[string]any{}
	for _, read := range e.when.Reads() {
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

// readText formats a value that was read from a path, for a person.
func (p *Plan) readText(path []any, v any) string {
	if name, _ := path[0].(string); p.isSecret(name) {
		return secretValue
	}
	return preview(v, maxShown)
}

// maxShown is how many bytes of a value a reason shows.
const maxShown = 60

// secretValue stands for the value of a secret key.
const secretValue = "***"

// isSecret reports whether a name is that of a secret state key.
func (p *Plan) isSecret(name string) bool {
	for _, key := range p.Graph.State {
		if key.Name.Value == name {
			return key.Secret
		}
	}
	return false
}

// preview formats a value as compact JSON of at most limit bytes.
func preview(v any, limit int) string {
	text, ok := v.(string)
	if ok {
		text = strconv.Quote(text)
	} else if v == nil {
		text = "null"
	} else {
		text = eval.Text(v)
	}
	return cut(text, limit)
}

// cut cuts a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

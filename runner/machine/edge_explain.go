// Why an edge fired or did not.

package machine

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// Candidate is one edge that was considered after a node, and what became of it.
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

// Lasting reports whether the candidates of a NoteEdgesResolved are the same
// whenever the same node takes the same ways out with the same outcome. A
// router's answer is different every time, and so are values.
func (n *Note) Lasting() bool { return n.choice == nil && !n.explained }

// AppendCandidates spells out the edges that a NoteEdgesResolved is about, in
// declaration order, with the reason each fired or did not. It evaluates
// nothing again: what fired is in the note, and edges after the first match
// were not asked.
func (s *State) AppendCandidates(dst []Candidate, note *Note) []Candidate {
	p, taken := s.plan, s.Taken(note)
	n := &p.nodes[note.Node]
	rank := n.successRank
	if note.Failed {
		rank = n.failureRank
	}
	first := len(n.out) // place, in the order of evaluation, of the edge that won
	for _, way := range taken {
		if way.Edge >= 0 {
			first = min(first, rank[p.edges[way.Edge].slot])
		}
	}
	dynamic := took(taken, -1)
	for at, index := range n.out {
		e := &p.edges[index]
		dst = append(dst, Candidate{}) // filled in its place, as writes are
		c := &dst[len(dst)-1]
		c.Edge, c.ID, c.Label, c.To = index, e.spec.ID.Value, e.spec.Label.Value, e.spec.To.Value
		c.Condition, c.When, c.Fired = e.spec.Condition, e.spec.When.Value, took(taken, index)
		if dynamic {
			c.Why = "goto decides"
		} else {
			c.Why = note.why(n, e, c.Fired, rank[at] > first)
			if c.Test = s.testOf(note, index); c.Test != nil {
				c.Why = c.Test.String()
			}
		}
	}
	return p.appendEnds(dst, n, taken, note.Failed)
}

// tested is a condition that was evaluated, with the values of its parts. They
// are kept only when State.Explain asks for them.
type tested struct {
	superstep, task, edge int
	reason                eval.Reason
}

// explain keeps what a condition comes to, part by part, as things are now.
func (s *State) explain(task, at int) {
	if !s.Explain {
		return
	}
	if n := len(s.tested); n > 0 && s.tested[n-1].superstep != s.Superstep {
		s.tested = s.tested[:0]
	}
	reason := s.vm.Explain(s.plan.edges[at].when, s.env, s.plan.readText)
	s.tested = append(s.tested, tested{s.Superstep, task, at, reason})
}

// readText is a value that was read from a path, for a person.
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

// isSecret says whether a name is that of a secret state key.
func (p *Plan) isSecret(name string) bool {
	for _, key := range p.Graph.State {
		if key.Name.Value == name {
			return key.Secret
		}
	}
	return false
}

// testOf is what an edge's condition came to, if it was evaluated.
func (s *State) testOf(note *Note, at int) *eval.Reason {
	if note.explained {
		for i := range s.tested {
			if t := &s.tested[i]; t.superstep == int(note.Superstep) && t.task == int(note.task) && t.edge == at {
				reason := t.reason
				return &reason
			}
		}
	}
	return nil
}

// took reports whether an edge fired; -1 asks for a dynamic target.
func took(taken []Taken, edge int) bool {
	for i := range taken {
		if int(taken[i].Edge) == edge {
			return true
		}
	}
	return false
}

// appendEnds spells out the labels of `ends`.
func (p *Plan) appendEnds(dst []Candidate, n *node, taken []Taken, failed bool) []Candidate {
	for _, label := range n.endLabels {
		to := n.ends[label]
		c := Candidate{Edge: -1, To: p.targetName(to), Condition: "goto", Why: "the output has no goto"}
		for _, way := range taken {
			c.Fired = c.Fired || way.Edge < 0 && int(way.To) == to
		}
		switch {
		case c.Fired:
			c.Why = "goto " + label
		case took(taken, -1):
			c.Why = "goto names another label"
		case failed:
			c.Why = "the node failed"
		}
		dst = append(dst, c)
	}
	return dst
}

// why says why an edge fired or did not; after says that an edge before it, in
// the order of evaluation, won.
func (n *Note) why(node *node, e *edge, fired, after bool) string {
	condition := e.spec.Condition
	switch {
	case n.Skipped && condition != "always" && condition != "on_success":
		return "the node was skipped"
	case n.Failed && condition != "on_failure" && condition != "always":
		return "the node failed"
	case !n.Failed && condition == "on_failure":
		return "the node succeeded"
	case e.when != nil && fired:
		return e.isTrue
	case e.when != nil && after && !node.all:
		return "an earlier edge fired"
	case e.when != nil:
		return e.isFalse
	case condition == "llm_decide":
		return whyDecided(n.choice, fired)
	case fired && n.choice != nil && n.choice.failure != nil:
		return "fallback: " + n.choice.failure.Message
	case fired && (!n.Failed && len(node.conditional) > 0 || n.Failed && len(node.failWhen) > 0):
		return "else"
	case fired:
		return "unconditional"
	}
	return "another edge fired"
}

// isFalse ends the reason of a condition that does not hold.
const isFalse = " is false"

// candidates spells out a stuck task's edges, with the values that false
// conditions read.
func (p *Plan) candidates(s *State, i int) []Candidate {
	t := &s.tasks[i]
	note := Note{
		Node: int32(t.node), Skipped: t.skipped, Failed: t.status == failed, choice: t.choice,
		task: int32(i), Superstep: int32(s.Superstep),
	}
	explain := s.Explain
	s.Explain = false // what the run says of its end does not depend on who looks
	out := s.AppendCandidates(nil, &note)
	s.Explain = explain
	for j := range out {
		if c := &out[j]; c.Edge >= 0 && c.When != "" && strings.HasSuffix(c.Why, isFalse) {
			c.Why += s.valuesOf(&p.edges[c.Edge])
		}
	}
	return out
}

func whyDecided(c *choice, fired bool) string {
	switch {
	case c == nil && fired:
		return "the only candidate"
	case c == nil:
		return "a condition matched first"
	case c.failure != nil && fired:
		return "fallback: " + c.failure.Message
	case c.failure != nil:
		return "the decision failed: " + c.failure.Message
	case fired && c.reasoning != "":
		return "chosen by the router: " + c.reasoning
	case fired:
		return "chosen by the router"
	}
	return "not chosen by the router"
}

// valuesOf lists what an edge's condition read: " (n = 3, verdict = "ok")".
func (s *State) valuesOf(e *edge) string {
	values := s.readValues(e)
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
		parts[i] = name + " = " + s.plan.readText([]any{name}, values[name])
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// readValues are the values of the paths that an edge's condition reads.
func (s *State) readValues(e *edge) map[string]any {
	if e.when == nil {
		return nil
	}
	out := map[string]any{}
	for _, read := range e.when.Reads() {
		if read.Dynamic || len(read.Path) == 0 {
			continue
		}
		var value any = s.env
		for _, name := range read.Path {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		out[strings.Join(read.Path, ".")] = value
	}
	return out
}

// preview is a value as compact JSON, cut to at most limit bytes.
func preview(v any, limit int) string {
	text, ok := v.(string)
	if ok {
		text = strconv.Quote(text)
	} else if v == nil {
		text = "null"
	} else {
		text = eval.Text(Plain(v))
	}
	return cut(text, limit)
}

// cut is a text of at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Why an edge fired or did not.

package machine

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// candidates lists the edges that a task's resolution looked at, in declaration
// order, with the reason each fired or did not. It evaluates nothing again:
// what fired is in the routes, and edges after the first match were not asked.
func (p *Plan) candidates(s *State, i int) []Candidate {
	t := &s.tasks[i]
	n := &p.nodes[t.node]
	rank := n.successRank
	if t.status == failed {
		rank = n.failureRank
	}
	first := len(n.out) // place, in the order of evaluation, of the edge that won
	for at, index := range n.out {
		if s.tookEdge(i, index) {
			first = min(first, rank[at])
		}
	}
	start := len(s.candidates)
	dynamic := s.tookEdge(i, -1)
	for at, index := range n.out {
		e := &p.edges[index]
		c := Candidate{
			Edge: e.spec.Index, ID: e.spec.ID.Value, To: e.spec.To.Value, Condition: e.spec.Condition,
			When: e.spec.When.Value, Fired: s.tookEdge(i, index),
		}
		c.Why = p.why(t, n, e, c.Fired, dynamic, rank[at] > first)
		s.candidates = append(s.candidates, c)
	}
	p.endCandidates(s, i, n)
	return s.candidates[start:len(s.candidates):len(s.candidates)]
}

func (s *State) tookEdge(task, edge int) bool {
	for i := range s.routes {
		if s.routes[i].task == task && s.routes[i].edge == edge {
			return true
		}
	}
	return false
}

// endCandidates lists the labels of `ends`.
func (p *Plan) endCandidates(s *State, i int, n *node) {
	for _, label := range n.endLabels {
		c := Candidate{Edge: -1, To: p.targetName(n.ends[label]), Condition: "goto", Why: "the output has no goto"}
		for _, r := range s.routes {
			c.Fired = c.Fired || r.task == i && r.edge < 0 && r.to == n.ends[label]
		}
		switch {
		case c.Fired:
			c.Why = "goto " + label
		case s.tookEdge(i, -1):
			c.Why = "goto names another label"
		case s.tasks[i].status == failed:
			c.Why = "the node failed"
		}
		s.candidates = append(s.candidates, c)
	}
}

func (p *Plan) why(t *task, n *node, e *edge, fired, dynamic, after bool) string {
	isFailure := t.status == failed
	condition := e.spec.Condition
	switch {
	case dynamic:
		return "goto decides"
	case t.skipped && condition != "always" && condition != "on_success":
		return "the node was skipped"
	case isFailure && condition != "on_failure" && condition != "always":
		return "the node failed"
	case !isFailure && condition == "on_failure":
		return "the node succeeded"
	case e.when != nil && fired:
		return e.isTrue
	case e.when != nil && after && !n.all:
		return "an earlier edge fired"
	case e.when != nil:
		return e.isFalse
	case condition == "llm_decide":
		return whyDecided(t, fired)
	case fired && t.choice != nil && t.choice.failure != nil:
		return "fallback: " + t.choice.failure.Message
	case fired && len(n.conditional)+len(n.failWhen) > 0:
		return "no condition matched"
	case fired:
		return "unconditional"
	}
	return "another edge fired"
}

// withValues adds to each candidate whose condition was false what it read.
func (p *Plan) withValues(s *State, list []Candidate) []Candidate {
	out := append([]Candidate(nil), list...)
	for i := range out {
		if out[i].Edge >= 0 && out[i].Why == p.edges[out[i].Edge].isFalse {
			out[i].Why += s.valuesOf(&p.edges[out[i].Edge])
		}
	}
	return out
}

func whyDecided(t *task, fired bool) string {
	switch {
	case t.choice == nil && fired:
		return "the only candidate"
	case t.choice == nil:
		return "a condition matched first"
	case t.choice.failure != nil && fired:
		return "fallback: " + t.choice.failure.Message
	case t.choice.failure != nil:
		return "the decision failed: " + t.choice.failure.Message
	case fired && t.choice.reasoning != "":
		return "chosen by the router: " + t.choice.reasoning
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
		parts[i] = name + " = " + preview(values[name], 60)
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

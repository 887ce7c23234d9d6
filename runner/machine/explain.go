// Why an edge fired or did not.

package machine

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// reason says why an edge fired or did not. The zero value is unset.
type reason uint8

const (
	isTrue reason = iota + 1
	isFalse
	notAsked
	unconditional
	noCondition
	otherFired
	afterFailure
	afterSuccess
	wasSkipped
	gotoDecides
	asText // EdgeResult.text says it
)

// EdgeResult is what became of one edge, or of one label of `ends`, after a
// node: small, because a watched step makes several. Plan.Candidate spells it out.
type EdgeResult struct {
	Edge  int // index; -1 for a label
	Fired bool
	why   reason
	to    int    // of a label
	text  string // of asText
}

// Fixed reports whether the result is spelled out the same way every time.
func (r EdgeResult) Fixed() bool { return r.Edge >= 0 && r.why != asText }

// results lists the edges that a task's resolution looked at, in declaration
// order, with the reason each fired or did not. It evaluates nothing again:
// what fired is in the routes, and edges after the first match were not asked.
func (p *Plan) results(s *State, i int) []EdgeResult {
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
	start := len(s.results)
	dynamic := s.tookEdge(i, -1)
	for at, index := range n.out {
		r := EdgeResult{Edge: index, Fired: s.tookEdge(i, index)}
		if dynamic {
			r.why = gotoDecides
		} else {
			r.why, r.text = why(t, n, &p.edges[index], r.Fired, rank[at] > first)
		}
		s.results = append(s.results, r)
	}
	p.endResults(s, i, n)
	return s.results[start:len(s.results):len(s.results)]
}

func (s *State) tookEdge(task, edge int) bool {
	for i := range s.routes {
		if s.routes[i].task == task && s.routes[i].edge == edge {
			return true
		}
	}
	return false
}

// endResults lists the labels of `ends`.
func (p *Plan) endResults(s *State, i int, n *node) {
	for _, label := range n.endLabels {
		r := EdgeResult{Edge: -1, to: n.ends[label], why: asText, text: "the output has no goto"}
		for j := range s.routes {
			to := &s.routes[j]
			r.Fired = r.Fired || to.task == i && to.edge < 0 && to.to == r.to
		}
		switch {
		case r.Fired:
			r.text = "goto " + label
		case s.tookEdge(i, -1):
			r.text = "goto names another label"
		case s.tasks[i].status == failed:
			r.why = afterFailure
		}
		s.results = append(s.results, r)
	}
}

func why(t *task, n *node, e *edge, fired, after bool) (reason, string) {
	isFailure := t.status == failed
	condition := e.spec.Condition
	switch {
	case t.skipped && condition != "always" && condition != "on_success":
		return wasSkipped, ""
	case isFailure && condition != "on_failure" && condition != "always":
		return afterFailure, ""
	case !isFailure && condition == "on_failure":
		return afterSuccess, ""
	case e.when != nil && fired:
		return isTrue, ""
	case e.when != nil && after && !n.all:
		return notAsked, ""
	case e.when != nil:
		return isFalse, ""
	case condition == "llm_decide":
		return asText, whyDecided(t, fired)
	case fired && t.choice != nil && t.choice.failure != nil:
		return asText, "fallback: " + t.choice.failure.Message
	case fired && len(n.conditional)+len(n.failWhen) > 0:
		return noCondition, ""
	case fired:
		return unconditional, ""
	}
	return otherFired, ""
}

// Candidate spells a result out.
func (p *Plan) Candidate(r EdgeResult) Candidate {
	c := Candidate{Edge: r.Edge, Fired: r.Fired, Why: r.text}
	if r.Edge >= 0 {
		e := p.edges[r.Edge].spec
		c.ID, c.To, c.Condition, c.When = e.ID.Value, e.To.Value, e.Condition, e.When.Value
	} else {
		c.To, c.Condition = p.targetName(r.to), "goto"
	}
	switch r.why {
	case asText:
	case isTrue:
		c.Why = p.edges[r.Edge].whenTrue
	case isFalse:
		c.Why = p.edges[r.Edge].whenFalse
	default:
		c.Why = r.why.words()
	}
	return c
}

func (r reason) words() string {
	switch r {
	case notAsked:
		return "an earlier edge fired"
	case unconditional:
		return "unconditional"
	case noCondition:
		return "no condition matched"
	case otherFired:
		return "another edge fired"
	case afterFailure:
		return "the node failed"
	case afterSuccess:
		return "the node succeeded"
	case wasSkipped:
		return "the node was skipped"
	case gotoDecides:
		return "goto decides"
	}
	return ""
}

// candidates spells out a stuck task's results, with the values that false
// conditions read.
func (p *Plan) candidates(s *State, i int) []Candidate {
	results := p.results(s, i)
	out := make([]Candidate, len(results))
	for j, r := range results {
		out[j] = p.Candidate(r)
		if r.why == isFalse {
			out[j].Why += s.valuesOf(&p.edges[r.Edge])
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

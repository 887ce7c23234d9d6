// Digests: what of a state decides how its run can go on.

package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Digest says which values of a state decide how its run goes on: two states with
// the same digest differ in nothing else that a graph can ask for, but for time, and
// for the steps and visits that the limits of the run have left.
type Digest struct {
	// Keys are the state keys that count.
	Keys []string
	// Visits are the nodes whose visits count.
	Visits []Visits
	// Steps says that the number of the step counts; Past, that outputs, inputs and
	// what is remembered of nodes do.
	Steps, Past bool
}

// Visits says how many visits of a node are told apart.
type Visits struct{ Node, Most int }

// AppendDigest adds the digest of a state to a text.
func (d *Digest) AppendDigest(dst []byte, s *State) []byte {
	w := digester{out: dst, about: d, state: s}
	w.word(string(s.Status), s.open, s.deciding, s.pauseDue, s.noStep, s.outOfSteps, s.refused)
	w.ending(s.closing)
	w.ending(s.violated)
	if f := s.final; f != nil {
		w.word("z", f.next, f.hurried, f.over)
		w.ending(&f.how)
	}
	for _, name := range d.Keys {
		value, set := s.Value(name)
		w.word(set)
		w.value(value)
	}
	for _, v := range d.Visits {
		w.word(min(s.Visits(v.Node), v.Most))
	}
	for _, node := range slices.Sorted(maps.Keys(s.memory.succeeded)) {
		w.word("+", node)
	}
	if d.Steps {
		w.word(s.Steps)
	}
	if d.Past {
		w.value(s.env["nodes"])
		w.value(s.env["history"])
		w.value(s.lastOutput)
	}
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		w.word("|")
		for i := range list {
			w.task(&list[i])
		}
	}
	w.finished(s.tasks)
	for i := range s.barriers {
		w.barrier(&s.barriers[i])
	}
	return w.out
}

// digester writes a digest. Fan-outs are numbered as they are met.
type digester struct {
	out   []byte
	about *Digest
	state *State
	fans  map[*fanout]int
}

// word adds plain values.
func (w *digester) word(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case bool:
			w.out = strconv.AppendBool(w.out, v)
		case int:
			w.out = strconv.AppendInt(w.out, int64(v), 10)
		case string:
			w.out = append(w.out, v...)
		case nil:
			w.out = append(w.out, "nil"...)
		}
		w.out = append(w.out, ' ')
	}
}

// value adds plain data, the keys of objects in order.
func (w *digester) value(v any) {
	switch v := v.(type) {
	case *Object:
		w.value(Plain(v))
	case map[string]any:
		w.out = append(w.out, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.out = strconv.AppendQuote(w.out, name)
			w.value(v[name])
		}
		w.out = append(w.out, '}')
	case []any:
		w.out = append(w.out, '[')
		for _, item := range v {
			w.value(item)
		}
		w.out = append(w.out, ']')
	case string:
		w.out = strconv.AppendQuote(w.out, v)
	case int:
		w.out = append(strconv.AppendInt(w.out, int64(v), 10), ',')
	case nil:
		w.out = append(w.out, "nil,"...)
	case bool:
		w.out = append(strconv.AppendBool(w.out, v), ',')
	default:
		w.out = fmt.Appendf(w.out, "%T %v,", v, v)
	}
}

// failure adds the kind of a failure.
func (w *digester) failure(f *Failure) {
	if f == nil {
		w.word("-")
		return
	}
	w.word(f.Kind)
}

// ending adds how a run ends.
func (w *digester) ending(e *ending) {
	if e == nil {
		w.word("-")
		return
	}
	w.word(string(e.status), e.reason)
	w.failure(e.failure)
}

// finished adds in which order those tasks have ended of which it decides what follows:
// whose write stands, and which failure is the first.
func (w *digester) finished(tasks []task) {
	var ended []*task
	for i := range tasks {
		if t := &tasks[i]; t.order > 0 && (t.uncaught || t.expired != nil || len(t.writes) > 0) {
			ended = append(ended, t)
		}
	}
	slices.SortFunc(ended, func(a, b *task) int { return a.order - b.order })
	for _, t := range ended {
		w.word("o", t.node)
	}
}

func (w *digester) task(t *task) {
	w.word("t", t.node, t.attempt, int(t.status), t.skipped, t.joined, t.merged, t.due, t.held, t.uncaught, t.visit > 0)
	w.place(t.at)
	w.failure(t.cause)
	w.failure(t.led)
	w.failure(t.failure)
	if t.status == succeeded || w.about.Past {
		w.value(t.output)
		for i := range t.writes {
			w.word("w", t.writes[i].key)
			w.value(t.writes[i].update)
		}
	}
	if w.about.Past {
		w.value(t.input)
		for i := range t.inputs {
			w.word(t.inputs[i].node)
			w.value(t.inputs[i].value)
		}
	}
	w.value(t.branches)
	if t.choice != nil {
		w.word("c", t.choice.edge)
	}
	for _, by := range t.sortedTried() {
		w.word("r", by.element, by.block, t.tried[by])
	}
	if t.asked != nil {
		w.questions(t.asked)
	}
	if t.expired != nil {
		w.place(t.expired.branch)
		w.word("x", t.expired.settled)
	}
	if e := t.each; e != nil {
		w.each(e)
	}
}

func (w *digester) each(e *eachState) {
	w.word("e", e.next, e.failed)
	w.value(e.items)
	w.value(e.results)
	w.failure(e.failure)
	w.failure(e.lowest)
	for _, i := range e.again {
		w.word("a", i)
	}
	for _, i := range sortedElements(e.running) {
		w.word(i, e.running[i].attempt)
		w.failure(e.running[i].cause)
	}
	for _, i := range sortedAttempts(e.attempts) {
		w.word("f", i, e.attempts[i].attempt)
	}
	for _, i := range slices.Sorted(maps.Keys(e.asking)) {
		w.word("q", i)
		w.questions(e.asking[i])
	}
}

func (w *digester) questions(q *questions) {
	for i := range q.questions {
		w.word("?", q.questions[i].ID, q.questions[i].settled)
		w.value(q.questions[i].answer)
		w.failure(q.questions[i].failure)
	}
}

// place adds the branch that something is on, and what has become of its fan-outs.
func (w *digester) place(at place) {
	for ; at.fan != nil; at = at.fan.at {
		f := at.fan
		number, known := w.fans[f]
		if !known {
			number = len(w.fans)
			if w.fans == nil {
				w.fans = map[*fanout]int{}
			}
			w.fans[f] = number
		}
		w.word("@", number, at.lane)
		if known {
			return
		}
		w.word(f.origin, f.ended, f.dead, f.auto, len(f.first))
		for _, lost := range slices.SortedFunc(slices.Values(f.failures), func(a, b lostBranch) int { return cmp.Compare(a.order, b.order) }) {
			w.word("l", lost.lane, lost.told, lost.failure.Node)
			w.failure(lost.failure)
		}
	}
}

func (w *digester) barrier(b *barrier) {
	w.word("b", b.node)
	w.place(place{fan: b.fan})
	for i := range b.arrivals {
		a := &b.arrivals[i]
		w.word("a", a.source)
		w.place(a.at)
		w.place(place{fan: a.over})
		if w.about.Past {
			w.value(a.input)
			w.value(a.output)
		}
	}
	for i := range b.detours {
		w.word("d", b.detours[i].node)
		for _, at := range b.detours[i].places {
			w.place(at)
		}
		for _, passed := range b.detours[i].passed {
			w.word("p", passed)
		}
	}
}

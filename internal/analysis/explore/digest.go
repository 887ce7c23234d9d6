// Digests: which states of a run go on alike.

package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// digest hashes the values of a state that decide how its run continues. States with the same
// digest go on alike, apart from time, max_steps and the size of the state.
type digest struct {
	keys   []int // state keys that count
	visits []visited
	// steps says that the number of steps counts, past that outputs, inputs and the
	// remembered visits do.
	steps, past bool
}

// visited says how many visits of a node are told apart.
type visited struct{ node, most int }

// digester writes a digest. Numbers of tasks, fan-outs, views and writes depend on the
// past, so it counts them anew, in the order in which it meets them.
type digester struct {
	*digest
	slots   []slot
	state   *machine.State
	scope   *machine.Scope
	out     []byte
	numbers map[numbered]int
	rank    int // the lowest of all tasks: ranks are written relative to it
}

type numbered struct {
	kind string
	id   int
}

// all writes the digest of the state. Graph nodes are tasks of the driver in explored
// plans, so there is one scope.
func (w *digester) all() {
	s := w.state
	w.word(string(s.Status))
	if len(s.Scopes) == 0 {
		return
	}
	sc := s.Scopes[0]
	w.scope, w.rank = sc, sc.MaxRank+1
	for _, t := range sc.Tasks {
		w.rank = min(w.rank, t.Rank)
	}
	w.word(sc.Full, len(s.Stopping), sc.FinalNext)
	if end := sc.End; end != nil {
		w.word("end", string(end.Status), end.Reason)
		w.failure(end.Failure)
	}
	for _, f := range sc.Fans {
		w.fan(f)
	}
	if len(sc.Fans) > 0 {
		w.word(max(sc.MaxRank-w.rank, -1))
	}
	for _, list := range [...][]*machine.Task{sc.Tasks, sc.Ended, sc.Gone} {
		w.word("tasks", len(list))
		for _, t := range list {
			w.task(t)
		}
	}
	if sc.Final != nil {
		w.task(sc.Final)
	}
	for _, b := range sc.Bends {
		w.word("bend", w.number("task", b.Task), b.Node, b.Reached)
		w.position(b.Rank, b.Position)
	}
	for _, one := range sc.Decided {
		w.word("decided", w.number("fan", one.Fan), one.Node)
	}
}

func (w *digester) number(kind string, id int) int {
	at := numbered{kind, id}
	if _, known := w.numbers[at]; !known {
		w.numbers[at] = len(w.numbers) + 1
	}
	return w.numbers[at]
}

// word appends plain values.
func (w *digester) word(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case bool:
			w.out = strconv.AppendBool(w.out, v)
		case int:
			w.out = strconv.AppendInt(w.out, int64(v), 10)
		case string:
			w.out = append(w.out, v...)
		default:
			w.out = fmt.Append(w.out, v)
		}
		w.out = append(w.out, ' ')
	}
}

// value appends data. Text is quoted and numbers keep their type.
func (w *digester) value(v any) {
	switch v := v.(type) {
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
	case int, bool:
		w.word(v)
	case eval.Open:
		if s := &w.slots[v.Number]; s.bound {
			w.value(s.value)
		} else {
			w.word("?", s.source)
		}
	default:
		w.out = fmt.Appendf(w.out, "%T %v,", v, v) // also that a key has no value
	}
}

// failure appends what a condition may read of a failure; see Model.note.
func (w *digester) failure(f *machine.Failure) {
	if f == nil {
		w.word("-")
		return
	}
	w.word(f.Kind, f.Node, f.Attempt)
}

func (w *digester) lanes(list []machine.Lane) {
	w.word("lanes")
	for _, lane := range list {
		w.word(w.number("fan", lane.Fan), lane.Lane)
	}
}

// position appends where a step stands. Ranks and orders matter only beside others.
func (w *digester) position(rank int, p *machine.Position) {
	if w.steps || len(w.scope.Fans) > 0 {
		w.word(rank-w.rank, p.Order)
	}
	w.lanes(p.Place)
	w.lanes(p.Lanes)
	for _, fan := range p.Joined {
		w.word("joined", w.number("fan", fan))
	}
	for _, over := range p.Over {
		w.word("over", over.At, over.Source)
	}
}

func (w *digester) fan(f *machine.Fan) {
	w.word("fan", w.number("fan", f.ID), f.Source, f.Implicit, w.number("view", f.View))
	w.position(f.Rank, f.Position)
	for _, b := range f.Branch {
		w.word(b.First)
		if b.Failed != nil {
			w.failure(b.Failed)
			w.word(w.number("task", b.By))
		}
	}
}

func (w *digester) task(t *machine.Task) {
	w.word("task", w.number("task", t.ID), t.Node, t.Waits, t.Begun, t.Done, t.Met, t.Skipped, t.Refused, t.Late, t.Deciding)
	w.position(t.Rank, t.Position)
	if t.From.Task != 0 {
		w.word("from", t.From.Node, t.From.Failed)
		if len(w.scope.Fans) > 0 {
			w.word(t.From.Rank-w.rank, t.From.Order)
		}
	}
	for _, f := range [...]*machine.Failure{t.Cause, t.Lost, t.Preset, t.Failure} {
		w.failure(f)
	}
	for _, other := range t.Carried {
		w.word("carried", w.number("task", other.ID))
	}
	for _, c := range t.Settled {
		w.word("settled", c.Key, w.number("fan", c.Fan))
	}
	if w.past {
		for _, v := range [...]any{t.Input, t.Inputs, t.Branches, t.Before} {
			w.value(v)
		}
		if t.From.Task != 0 {
			w.value(t.From.Output)
		}
	}
	if t.Done {
		w.value(t.Output)
		w.writes(t.Writes)
	}
	if t.Choice != nil {
		w.word("choice", t.Choice.Edge)
	}
	for _, u := range t.Units {
		w.unit(u)
	}
	if e := t.Each; e != nil {
		w.word("each", e.Next, e.Done, e.Failed, e.FirstAt)
		w.failure(e.First)
		w.value(e.Items)
		w.value(e.Results)
		w.word(e.FailedAt)
	}
	w.view(t.View)
}

func (w *digester) unit(u *machine.Unit) {
	w.word("unit", u.Element, int(u.State), u.Attempt, u.Round, u.Tried, u.Begun, u.CutOff)
	if u.Until > 0 {
		w.word(u.Until - w.state.Now)
	}
	for i := range u.Questions {
		w.word(u.Questions[i].ID, u.Questions[i].Settled)
		w.value(u.Questions[i].Answer)
	}
	w.failure(u.Cause)
	w.failure(u.Failure)
	w.value(u.Output)
	w.writes(u.Writes)
}

func (w *digester) writes(list []machine.Write) {
	for i := range list {
		one := &list[i]
		w.word("write", w.number("write", one.ID), one.Key, one.Absent, one.Reset)
		for _, id := range one.After {
			w.word(w.number("write", id))
		}
		w.value(one.Update)
	}
}

// view appends a view and those below it, each where it is first met.
func (w *digester) view(id int) {
	at, found := slices.BinarySearchFunc(w.scope.Views, id, func(v *machine.View, id int) int { return cmp.Compare(v.ID, id) })
	if !found {
		return
	}
	v, met := w.scope.Views[at], len(w.numbers)
	w.word("view", w.number("view", id))
	if _, written := w.numbers[numbered{"written", id}]; written {
		return
	}
	w.numbers[numbered{"written", id}] = met
	for _, key := range w.keys {
		w.value(v.Vals[key])
	}
	for _, one := range w.visits {
		visits := 0
		if at := slices.IndexFunc(v.Visits, func(of machine.Visits) bool { return of.Node == one.node }); at >= 0 {
			visits = v.Visits[at].Count
		}
		w.word(min(visits, one.most))
	}
	for _, of := range v.Visits {
		if of.Succeeded > 0 {
			w.word(of.Node)
		}
	}
	w.word(",")
	if w.steps {
		w.word(v.Count)
	}
	if w.past {
		for _, m := range v.Mem {
			if m != nil {
				w.word(m.Outcome)
				w.failure(m.Failure)
				w.value(m.Output)
				w.value(m.History)
			}
			w.word(",")
		}
	}
	if v.Base == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(v.Heads)) {
		w.word("head", key)
		for _, id := range v.Heads[key] {
			w.word(w.number("write", id))
		}
	}
	for _, d := range v.Done {
		w.word("done", w.number("task", d.Task), d.Node, d.Rank-w.rank, d.Order, d.Skipped, d.Refused)
		if d.Hoist != 0 {
			w.word("hoist", d.Hoist-w.rank)
		}
		w.lanes(d.Lanes)
		w.failure(d.Failure)
		if w.past {
			w.value(d.Output)
		}
		w.writes(d.Writes)
	}
	w.view(v.Base)
}

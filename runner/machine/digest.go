// Digests: which states of a run go on alike.

package machine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// Digest says which values of a state decide how its run goes on: two states with the same
// digest differ in nothing else that a graph can ask for, but for the steps and visits that
// the limits of the run have left.
type Digest struct {
	// Keys are the state keys that count.
	Keys []string
	// Visits are the nodes whose visits count, each up to a number.
	Visits []Visits
	// Steps says that the number of steps counts; Past, that outputs, inputs and what is
	// remembered of nodes do.
	Steps, Past bool
}

// Visits says how many visits of a node are told apart.
type Visits struct{ Node, Most int }

// digester writes a digest. Tasks, fan-outs and views have numbers of their own in it, in
// the order in which it comes to them.
type digester struct {
	*Digest
	sc    *Scope
	out   []byte
	fans  map[int]int
	views map[int]int
	rank  int // the lowest of those that are left
}

// AppendDigest appends the digest of the outermost scope of a state.
func (d *Digest) AppendDigest(dst []byte, s *State) []byte {
	if len(s.Scopes) == 0 {
		return append(dst, s.Status...)
	}
	w := &digester{Digest: d, sc: s.root(), out: dst, fans: map[int]int{0: 0}, views: map[int]int{}}
	for i, f := range w.sc.Fans {
		w.fans[f.ID] = i + 1
	}
	w.rank = 1 << 30
	for _, t := range w.sc.Tasks {
		w.rank = min(w.rank, t.Rank)
	}
	w.add(s.Status, w.sc.Full, w.sc.End != nil, len(s.Stopping))
	for _, f := range w.sc.Fans {
		w.add("f", f.Source, f.Rank-w.rank, w.lanes(f.Place), f.Implicit)
		for _, b := range f.Branch {
			w.add(b.First, b.Failed != nil)
		}
	}
	for _, list := range [...][]*Task{w.sc.Tasks, w.sc.Ended, w.sc.Gone} {
		w.add("t", len(list))
		for _, t := range list {
			w.task(t)
		}
	}
	for _, b := range w.sc.Bends {
		w.add("b", b.Node, w.lanes(b.Place))
	}
	for _, one := range w.sc.Decided {
		w.add("d", w.fans[one.Fan], one.Node)
	}
	return w.out
}

func (w *digester) add(values ...any) {
	for _, v := range values {
		w.out = append(fmt.Append(w.out, v), ' ')
	}
}

func (w *digester) value(v any) {
	text, err := eval.AppendJSON(w.out, v)
	if err != nil {
		text = append(w.out, '?')
	}
	w.out = append(text, ' ')
}

func (w *digester) lanes(list []Lane) []Lane {
	out := slices.Clone(list)
	for i := range out {
		out[i].Fan = w.fans[out[i].Fan]
	}
	return out
}

func (w *digester) task(t *Task) {
	w.add(t.Node, t.Order, w.lanes(t.Place), w.lanes(t.Lanes), t.Waits, t.Begun, t.Done, t.Deciding, t.Skipped, t.Late, t.Lost != nil)
	for _, f := range t.Joined {
		w.add("j", w.fans[f])
	}
	if w.Steps || len(w.sc.Fans) > 0 {
		w.add(t.Rank - w.rank)
	}
	if t.From != nil {
		w.add("from", t.From.Node)
	}
	if w.Past {
		w.value(t.Input)
		w.value(t.Inputs)
		w.value(t.Output)
		w.value(failureData(t.Cause))
		w.value(failureData(t.Failure))
	}
	for _, u := range t.Units {
		w.add("u", u.Element, u.State, u.Attempt, u.Round, u.Tried, u.Cause != nil)
		if u.Until > 0 {
			w.add(u.Until - t.scope.state.Now)
		}
		for i := range u.Questions {
			w.add(u.Questions[i].ID, u.Questions[i].Settled)
		}
		w.writes(u.Writes)
	}
	if e := t.Each; e != nil {
		w.add("e", e.Next, e.Done, e.Failed, len(e.Items))
		for i := range e.Items {
			w.writes(e.Writes[i])
		}
	}
	w.view(t.view())
}

func (w *digester) writes(list []Write) {
	for i := range list {
		wr := &list[i]
		w.add("w", wr.Key, wr.Absent, wr.Reset)
		w.value(wr.Update)
	}
}

// view adds a view where it is first met, else its number.
func (w *digester) view(v *View) {
	if v == nil {
		return
	}
	if at, known := w.views[v.ID]; known {
		w.add("v", at)
		return
	}
	w.views[v.ID] = len(w.views) + 1
	for _, name := range w.Keys {
		if key, ok := w.sc.plan.keyOf[name]; ok && v.Vals[key] != absent {
			w.value(v.Vals[key])
		} else {
			w.add("-")
		}
	}
	for _, one := range w.Visits {
		w.add(min(int(v.Visits[one.Node]), one.Most))
	}
	if w.sc.plan.requires {
		for _, n := range v.Succeeded {
			w.add(n > 0)
		}
	}
	if w.Steps {
		w.add(v.Count)
	}
	if w.Past {
		text, _ := json.Marshal(v.Mem)
		w.out = append(w.out, text...)
	}
	if v.Base == 0 {
		return
	}
	for _, d := range v.Done {
		w.add("s", d.Node, d.Order, d.Rank-w.rank, d.Failure != nil)
		w.writes(d.Writes)
	}
	w.view(w.sc.view(v.Base))
}

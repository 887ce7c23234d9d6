// Digests: which states of a run go on alike.

package explore

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// digested lists the fields that a digest holds, by type. A word behind a colon says how: the
// number of a task; the contents of a view; a rank, or an order that matters only beside
// ranks; a time from now on; what counts only for results of the past.
var digested = map[reflect.Type]string{
	reflect.TypeFor[machine.Scope]():    `Full FinalNext End Fans MaxRank:rank Tasks Ended Gone Final Bends`,
	reflect.TypeFor[machine.End]():      `Status Reason Failure`,
	reflect.TypeFor[machine.Failure]():  `Kind Node Attempt`, // messages and details are gaps, see Model.readContext
	reflect.TypeFor[machine.Fan]():      `ID Source Implicit View Rank:rank Position Branch Decided`,
	reflect.TypeFor[machine.Branch]():   `First Failed By:task`,
	reflect.TypeFor[machine.Position](): `Order:order Place Lanes Joined Over`,
	reflect.TypeFor[machine.Lane]():     `Fan Lane`,
	reflect.TypeFor[machine.Over]():     `At Source`,
	reflect.TypeFor[machine.Bend]():     `Task:task Node Reached Rank:rank Position`,
	reflect.TypeFor[machine.Source]():   `Node Failed Rank:rank Order:order Output:past`,
	reflect.TypeFor[machine.Conflict](): `Key Fan`,
	reflect.TypeFor[machine.Chosen]():   `Edge`,
	reflect.TypeFor[machine.Task](): `ID:task Node Waits Begun Done Skipped Refused Late Deciding Rank:rank Position From Cause Lost Preset Failure
		Carries Settled Input:past Inputs:past Branches:past Before:past Output Writes Choice Units Each View:contents`,
	reflect.TypeFor[machine.Unit]():   `Element State Attempt Round Tried Begun CutOff Until:time Questions Cause Failure Output Writes`,
	reflect.TypeFor[machine.Asked]():  `ID Settled Answer`,
	reflect.TypeFor[machine.Each]():   `Next Done Failures Items Results`,
	reflect.TypeFor[machine.Memory](): `Outcome Stale Failure Output History`,
	reflect.TypeFor[machine.Done]():   `Task:task Node Rank:rank Position Skipped Refused Hoist:rank Failure Output:past Writes`,
	reflect.TypeFor[machine.Write]():  `ID Key Absent Reset After Update`,
}

// digestedField is a field of digested.
type digestedField struct {
	index []int
	how   string
}

var digestedFields = sync.OnceValue(func() map[reflect.Type][]digestedField {
	out := map[reflect.Type][]digestedField{}
	for of, words := range digested { //lint:ignore mapiter each by itself
		for _, word := range strings.Fields(words) {
			name, how, _ := strings.Cut(word, ":")
			f, _ := of.FieldByName(name)
			out[of] = append(out[of], digestedField{f.Index, how})
		}
	}
	return out
})

// digester writes a digest.
type digester struct {
	*digest
	slots   []slot
	state   *machine.State
	scope   *machine.Scope
	out     []byte
	written map[int]bool // views
	rank    int          // the lowest of all tasks: ranks are written relative to it
}

// all writes the digest of the state. Graph nodes are tasks of the driver in explored
// plans, so there is one scope.
func (w *digester) all() {
	w.word(string(w.state.Status), len(w.state.Stopping))
	if len(w.state.Scopes) == 0 {
		return
	}
	w.scope = w.state.Scopes[0]
	w.rank = w.scope.MaxRank + 1
	for _, t := range w.scope.Tasks {
		w.rank = min(w.rank, t.Rank)
	}
	w.part(reflect.ValueOf(w.scope), "")
}

// part writes a part of the state; how is a word of digested.
func (w *digester) part(v reflect.Value, how string) {
	switch kind := v.Kind(); {
	case how == "past" && !w.past, (how == "rank" || how == "order") && !w.steps && len(w.scope.Fans) == 0:
	case v.CanInt():
		w.int(int(v.Int()), how)
	case kind == reflect.Bool:
		w.word(v.Bool())
	case kind == reflect.String:
		w.word(v.String())
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Interface:
		w.word(v.Len())
		for i := range v.Len() {
			w.part(v.Index(i), how)
		}
	case kind == reflect.Map && v.Type().Elem().Kind() != reflect.Interface:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
		for _, key := range keys {
			w.word(int(key.Int()))
			w.part(v.MapIndex(key), how)
		}
	case kind == reflect.Pointer && !v.IsNil():
		w.part(v.Elem(), how)
	case kind == reflect.Pointer, kind == reflect.Struct && v.IsZero():
		w.word("-")
	case kind == reflect.Struct && how == "task":
		w.part(v.FieldByName("ID"), how)
	case kind == reflect.Struct:
		for _, f := range digestedFields()[v.Type()] {
			w.part(v.FieldByIndex(f.index), f.how)
		}
	default:
		w.value(v.Interface())
	}
}

func (w *digester) int(n int, how string) {
	switch how {
	case "contents":
		w.view(n)
	case "rank":
		if n != 0 { // which means none
			w.word("r", n-w.rank)
		}
	case "time":
		if n != 0 {
			w.word(n - int(w.state.Now))
		}
	default:
		w.word(n)
	}
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

// view appends a view and those below it, each where it is first met.
func (w *digester) view(id int) {
	at, found := slices.BinarySearchFunc(w.scope.Views, id, func(v *machine.View, id int) int { return cmp.Compare(v.ID, id) })
	if !found {
		return
	}
	v := w.scope.Views[at]
	if w.word("view", id); w.written[id] {
		return
	}
	w.written[id] = true
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
		for _, node := range slices.Sorted(maps.Keys(v.Mem)) {
			w.word(node)
			m := *v.Mem[node]
			if m.Stale { // only prompts read it
				m.Output = nil
			}
			w.part(reflect.ValueOf(m), "")
		}
	}
	if v.Base == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(v.Heads)) {
		w.word("head", key)
		w.part(reflect.ValueOf(v.Heads[key]), "")
	}
	w.part(reflect.ValueOf(v.Done), "")
	w.view(v.Base)
}

// Digests distinguish the states from which runs continue differently.

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

// digest says which values of a state decide how its run continues. Runs from states with the
// same digest behave alike, apart from time, max_steps and the size of the state.
type digest struct {
	keys   []int // state keys that count
	visits []visited
	// steps says that the number of steps matters, past that outputs, inputs and past visits matter.
	steps, past bool
}

// visited says up to how many visits of a node are distinguished.
type visited struct{ node, most int }

// digested lists the fields that a digest holds, by type. A word after a colon says how a field
// is written: "task" as the number of a task, "contents" as the contents of a view, "rank" and
// "order" only if branches can be ranked, "time" from now on, "past" only with digest.past.
var digested = map[reflect.Type]string{
	reflect.TypeFor[machine.Scope]():    `Full FinalNext End Fans MaxRank:rank Tasks Ended Gone Final Detours`,
	reflect.TypeFor[machine.End]():      `Status Reason Failure`,
	reflect.TypeFor[machine.Failure]():  `Kind Node Attempt`, // messages and details are gaps, see Model.readContext
	reflect.TypeFor[machine.Fan]():      `ID Source Implicit View Rank:rank Position Branch Decided`,
	reflect.TypeFor[machine.Branch]():   `First Failed By:task`,
	reflect.TypeFor[machine.Position](): `Order:order Place Lanes Joined Over`,
	reflect.TypeFor[machine.Lane]():     `Fan Lane`,
	reflect.TypeFor[machine.Over]():     `At Source`,
	reflect.TypeFor[machine.Detour]():   `Task:task Node Reached Rank:rank Position`,
	reflect.TypeFor[machine.Source]():   `Node Failed Rank:rank Order:order Output:past`,
	reflect.TypeFor[machine.Conflict](): `Key Fan`,
	reflect.TypeFor[machine.Chosen]():   `Edge`,
	reflect.TypeFor[machine.Task](): `ID:task Node Waits Begun Done Skipped Refused Late Deciding Rank:rank Position From Cause Lost Preset Failure
		Carries Settled Input:past Inputs:past Branches:past Before:past Output Writes Choice Units Each View:contents`,
	reflect.TypeFor[machine.Unit]():         `Element State Attempt Round Tried Begun CutOff Until:time Questions Cause Failure Output Writes`,
	reflect.TypeFor[machine.UnitQuestion](): `ID Settled Answer`,
	reflect.TypeFor[machine.Each]():         `Next Done Failures Items Results`,
	reflect.TypeFor[machine.Memory]():       `Outcome Stale Failure Output History`,
	reflect.TypeFor[machine.FinishedStep](): `Task:task Node Rank:rank Position Skipped Refused Hoist:rank Failure Output:past Writes`,
	reflect.TypeFor[machine.Write]():        `ID Key Absent Reset After Update`,
}

// digestedField is a parsed word of digested.
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
	written map[int]bool // views that are in the digest
	rank    int          // the lowest rank of a task; ranks are written relative to it
}

// writeState writes the digest of the state. Explored plans don't run subgraphs: there is one scope.
func (w *digester) writeState() {
	w.writeWords(string(w.state.Status), len(w.state.Stopping))
	if len(w.state.Scopes) == 0 {
		return
	}
	w.scope = w.state.Scopes[0]
	w.rank = w.scope.MaxRank + 1
	for _, t := range w.scope.Tasks {
		w.rank = min(w.rank, t.Rank)
	}
	w.writePart(reflect.ValueOf(w.scope), "")
}

// writePart writes a part of the state in the way that digested names.
func (w *digester) writePart(v reflect.Value, how string) {
	switch kind := v.Kind(); {
	case how == "past" && !w.past, (how == "rank" || how == "order") && !w.steps && len(w.scope.Fans) == 0:
	case v.CanInt():
		w.writeInt(int(v.Int()), how)
	case kind == reflect.Bool:
		w.writeWords(v.Bool())
	case kind == reflect.String:
		w.writeWords(v.String())
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Interface:
		w.writeWords(v.Len())
		for i := range v.Len() {
			w.writePart(v.Index(i), how)
		}
	case kind == reflect.Map && v.Type().Elem().Kind() != reflect.Interface:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
		for _, key := range keys {
			w.writeWords(int(key.Int()))
			w.writePart(v.MapIndex(key), how)
		}
	case kind == reflect.Pointer && !v.IsNil():
		w.writePart(v.Elem(), how)
	case kind == reflect.Pointer, kind == reflect.Struct && v.IsZero():
		w.writeWords("-")
	case kind == reflect.Struct && how == "task":
		w.writePart(v.FieldByName("ID"), how)
	case kind == reflect.Struct:
		for _, f := range digestedFields()[v.Type()] {
			w.writePart(v.FieldByIndex(f.index), f.how)
		}
	default:
		w.writeValue(v.Interface())
	}
}

func (w *digester) writeInt(n int, how string) {
	switch how {
	case "contents":
		w.writeView(n)
	case "rank":
		if n != 0 { // 0: none
			w.writeWords("r", n-w.rank)
		}
	case "time":
		if n != 0 {
			w.writeWords(n - int(w.state.Now))
		}
	default:
		w.writeWords(n)
	}
}

// writeWords appends plain values.
func (w *digester) writeWords(values ...any) {
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

// writeValue appends data. Texts are quoted, numbers keep their type.
func (w *digester) writeValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		w.out = append(w.out, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.out = strconv.AppendQuote(w.out, name)
			w.writeValue(v[name])
		}
		w.out = append(w.out, '}')
	case []any:
		w.out = append(w.out, '[')
		for _, item := range v {
			w.writeValue(item)
		}
		w.out = append(w.out, ']')
	case string:
		w.out = strconv.AppendQuote(w.out, v)
	case int, bool:
		w.writeWords(v)
	case eval.Open:
		if s := &w.slots[v.Number]; s.bound {
			w.writeValue(s.value)
		} else {
			w.writeWords("?", s.source)
		}
	default:
		w.out = fmt.Appendf(w.out, "%T %v,", v, v) // a key without a value, too
	}
}

// writeView appends a view and the views below it, each once.
func (w *digester) writeView(id int) {
	at, found := slices.BinarySearchFunc(w.scope.Views, id, func(v *machine.View, id int) int { return cmp.Compare(v.ID, id) })
	if !found {
		return
	}
	v := w.scope.Views[at]
	if w.writeWords("view", id); w.written[id] {
		return
	}
	w.written[id] = true
	for _, key := range w.keys {
		w.writeValue(v.Vals[key])
	}
	for _, one := range w.visits {
		visits := 0
		if at := slices.IndexFunc(v.Visits, func(of machine.Visits) bool { return of.Node == one.node }); at >= 0 {
			visits = v.Visits[at].Count
		}
		w.writeWords(min(visits, one.most))
	}
	for _, of := range v.Visits {
		if of.Succeeded > 0 {
			w.writeWords(of.Node)
		}
	}
	w.writeWords(",")
	if w.steps {
		w.writeWords(v.Count)
	}
	if w.past {
		for _, node := range slices.Sorted(maps.Keys(v.Mem)) {
			w.writeWords(node)
			m := *v.Mem[node]
			if m.Stale { // only prompts read the output
				m.Output = nil
			}
			w.writePart(reflect.ValueOf(m), "")
		}
	}
	if v.Base == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(v.Heads)) {
		w.writeWords("head", key)
		w.writePart(reflect.ValueOf(v.Heads[key]), "")
	}
	w.writePart(reflect.ValueOf(v.Done), "")
	w.writeView(v.Base)
}

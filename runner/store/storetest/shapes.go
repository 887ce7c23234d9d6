// Journals return events as they were appended.

package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// testEventFields sets every field of an event by reflection, so it covers fields that are added later.
func testEventFields(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	var want []machine.Event
	for _, kind := range []machine.EventKind{machine.RunBegan, machine.TaskEnded, machine.Advanced} {
		var e machine.Event
		fillValue(reflect.ValueOf(&e).Elem(), 0)
		e.Kind = kind
		want = append(want, e)
	}
	appendEvents(t, journal, want...)
	wantEvents(t, s, "one", want)
	got, err := s.Events("one", 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("event %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// fillValue sets all exported fields of a value.
func fillValue(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 8 {
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"a":[1,"b"]}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fillValue(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(key, depth+1)
		fillValue(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(map[string]any{"a <b> & \"c\"": []any{nil, true, 1, 1.5, "é\x00\n"}}))
		}
	case reflect.String:
		v.SetString("a <b> & \"c\" é\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7.5)
	}
}

// testNumbers checks that numbers keep their value and type.
func testNumbers(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	numbers := []any{
		0, 1, -1, 0.5, 1e300, 5e-324, math.MaxFloat64, math.Pi,
		1 << 53, 1<<53 + 1, -(1<<53 + 1), 1 << 61, 1<<61 - 1, -(1 << 61), float64(1 << 62), 12345678901234567890.0,
	}
	for i, n := range numbers {
		if c, err := eval.Canonical(n); err != nil || !reflect.DeepEqual(c, n) {
			t.Fatalf("%v (%T) is not canonical: %v (%T), %v", n, n, c, c, err)
		}
		appendEvents(t, journal, machine.Event{Kind: machine.TaskEnded, At: int64(i), Output: n, Input: map[string]any{"n": []any{n}}})
	}
	got, err := s.Events("one", 0, math.MaxInt)
	if err != nil || len(got) != len(numbers) {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, n := range numbers {
		if !reflect.DeepEqual(got[i].Output, n) || !reflect.DeepEqual(got[i].Input, map[string]any{"n": []any{n}}) {
			t.Errorf("%v (%T) came back as %v (%T) and %v", n, n, got[i].Output, got[i].Output, got[i].Input)
		}
	}
}

func testAppend(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	all := newEvents()
	appendEvents(t, journal, all[0])
	if err := journal.Append(all[1:4]...); err != nil {
		t.Fatal(err)
	}
	if err := journal.Append(nil...); err != nil {
		t.Errorf("appending nothing: %v", err)
	}
	appendEvents(t, journal, all[4])
	wantEvents(t, s, "one", all[:5])
}

func testEventsAfter(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	all := newEvents()
	appendEvents(t, journal, all[:4]...)
	for n, want := range map[int]int{-1: 4, 0: 4, 1: 3, 3: 1, 4: 0, 9: 0} {
		got, err := s.Events("one", n, math.MaxInt)
		if err != nil || len(got) != want {
			t.Errorf("after %d there are %d events, want %d (%v)", n, len(got), want, err)
			continue
		}
		if want > 0 && got[0].At != all[max(n, 0)].At {
			t.Errorf("after %d comes the event of %d", n, got[0].At)
		}
	}
}

// testBadEvents appends an event that can't be encoded. The append must store nothing, and later
// appends must fail.
func testBadEvents(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	appendEvents(t, journal, newEvents()[0])
	bad := machine.Event{Kind: machine.TaskEnded, Output: math.NaN()}
	if err := journal.Append(newEvents()[1], bad); err == nil {
		t.Error("an event without a text was kept")
	}
	if err := journal.Append(newEvents()[1]); err == nil {
		t.Error("a journal goes on after an error")
	}
	wantEvents(t, s, "one", newEvents()[:1])
}

func testSnapshots(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one", firstEvent())
	wantSnapshot(t, s, -1, store.Snapshot{})
	appendEvents(t, journal, newEvents()[1])
	size := journal.BytesSinceSnapshot()
	if size <= 0 {
		t.Errorf("two events have %d bytes", size)
	}
	for _, state := range []string{"first", "state of two"} {
		if err := journal.Snapshot(store.Snapshot{State: []byte(state)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := journal.BytesSinceSnapshot(); n != 0 {
		t.Errorf("%d bytes are journaled after a snapshot", n)
	}
	appendEvents(t, journal, newEvents()[:2]...)
	if n := journal.BytesSinceSnapshot(); n != size {
		t.Errorf("%d bytes are journaled, want %d", n, size)
	}
	for range 2 {
		if err := journal.Snapshot(store.Snapshot{State: []byte("state of four")}); err != nil {
			t.Fatal(err)
		}
	}
	appendEvents(t, journal, newEvents()[:2]...)
	two := store.Snapshot{Events: 2, State: []byte("state of two")}
	four := store.Snapshot{Events: 4, State: []byte("state of four")}
	wantSnapshot(t, s, -1, four)
	wantSnapshot(t, s, 9, four)
	wantSnapshot(t, s, 4, four)
	wantSnapshot(t, s, 3, two)
	wantSnapshot(t, s, 1, store.Snapshot{})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	again := openJournal(t, s, "one", "x")
	if n := again.BytesSinceSnapshot(); n != size {
		t.Errorf("an opened journal has %d bytes journaled, want %d", n, size)
	}
}

func wantSnapshot(t *testing.T, s store.Store, most int, want store.Snapshot) {
	t.Helper()
	got, err := s.Snapshot("one", most)
	if err != nil || got.Events != want.Events || string(got.State) != string(want.State) {
		t.Errorf("the snapshot of at most %d is of %d: %q (%v); want of %d: %q", most, got.Events, got.State, err, want.Events, want.State)
	}
}

func testClosedJournal(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	appendEvents(t, journal, newEvents()[0])
	for range 2 {
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for what, err := range map[string]error{
		"append": journal.Append(newEvents()[1]), "append all": journal.Append(newEvents()[1:2]...),
		"snapshot": journal.Snapshot(store.Snapshot{State: []byte("x")}), "note": journal.SaveSummary(store.RunSummary{}),
	} {
		if !errors.Is(err, store.ErrJournalClosed) {
			t.Errorf("%s gives %v, want ErrJournalClosed", what, err)
		}
	}
	again := openJournal(t, s, "one", "x")
	appendEvents(t, again, newEvents()[1])
	wantEvents(t, s, "one", newEvents()[:2])
}

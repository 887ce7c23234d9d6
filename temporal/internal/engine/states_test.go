package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/spec"
)

// Tasks that see the same large state share what was read of it, and secrets that are
// put into that of one are in no other's.
func TestStatesAreShared(t *testing.T) {
	mark := secretMark("nonce", &spec.Secret{})
	text := func(n int) []byte {
		out, err := json.Marshal(taskState{State: map[string]any{"pad": strings.Repeat("x", largestShared), "n": n, "key": mark}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var s states
	read := func(n int) *taskState {
		state, err := s.read(text(n))
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	first, second := read(1), read(1)
	if reflect.ValueOf(first.State).Pointer() != reflect.ValueOf(second.State).Pointer() {
		t.Error("the same state is read twice")
	}
	opened := &secrets{marks: [][]byte{[]byte(mark)}, values: [][]byte{[]byte("open")}}
	if err := opened.unmark(first); err != nil {
		t.Fatal(err)
	}
	if first.State["key"] != "open" || second.State["key"] != mark || read(1).State["key"] != mark {
		t.Errorf("the secret stands as %q where it belongs, %q and %q elsewhere", first.State["key"], second.State["key"], read(1).State["key"])
	}
	for i := range 2 * mostStates {
		if got := read(i); fmt.Sprint(got.State["n"]) != fmt.Sprint(i) {
			t.Errorf("state %d is read as %v", i, got.State["n"])
		}
	}
	if len(s.byDigest) > mostStates {
		t.Errorf("%d states are kept", len(s.byDigest))
	}
}

// States are the same only where they hold the very same values.
func TestSame(t *testing.T) {
	list, other, m := []any{1, "a"}, []any{1, "a"}, map[string]any{"k": 1}
	for _, c := range []struct {
		a, b map[string]any
		want bool
	}{
		{nil, nil, true},
		{nil, map[string]any{}, false},
		{map[string]any{"a": 1, "b": "x", "c": list, "d": m, "e": nil}, map[string]any{"a": 1, "b": "x", "c": list, "d": m, "e": nil}, true},
		{map[string]any{"a": 1}, map[string]any{"a": 2}, false},
		{map[string]any{"a": 1}, map[string]any{"a": 1.0}, false},
		{map[string]any{"a": nil}, map[string]any{"a": 0}, false},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{map[string]any{"c": list}, map[string]any{"c": other}, false},
		{map[string]any{"c": list}, map[string]any{"c": list[:1]}, false},
		{map[string]any{"d": m}, map[string]any{"d": map[string]any{"k": 1}}, false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("same(%v, %v) = %v", c.a, c.b, got)
		}
		if diff := cmp.Diff(c.a, c.b); c.want && diff != "" {
			t.Error(diff)
		}
	}
}

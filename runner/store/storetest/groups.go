// Groups of runs.

package storetest

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
)

func enterGroup(t *testing.T, journal store.Journal, group string, limit int) (inside bool, members string) {
	t.Helper()
	state, err := journal.EnterGroup(group, limit)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range state.Members {
		ids = append(ids, m.RunID)
		if m.Owner == "" || m.Since.IsZero() {
			t.Errorf("%s is inside without an owner or a time: %+v", m.RunID, m)
		}
	}
	return state.Inside, strings.Join(ids, " ")
}

// testGroups checks that a group has at most limit members, and that waiting runs enter in order.
func testGroups(t *testing.T, s store.Store) {
	one, two := createRun(t, s, "one", firstEvent()), createRun(t, s, "two", firstEvent())
	three, four := createRun(t, s, "three"), createRun(t, s, "four") // a run may wait before it starts
	want := func(what string, journal store.Journal, group string, limit int, inside bool, members string) {
		t.Helper()
		if got, have := enterGroup(t, journal, group, limit); got != inside || have != members {
			t.Errorf("%s: inside %v with %q, want %v with %q", what, got, have, inside, members)
		}
	}
	shut := func(journal store.Journal) {
		t.Helper()
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want("the first", one, "g", 1, true, "one")
	want("the first again", one, "g", 1, true, "one")
	want("the second", two, "g", 1, false, "one")
	want("the third", three, "g", 1, false, "one")
	want("one of another group", four, "h", 1, true, "four")
	shut(one)
	want("the third, which is behind the second", three, "g", 1, false, "")
	want("the second, whose turn it is", two, "g", 1, true, "two")
	want("the third, with a higher limit", three, "g", 2, true, "two three")
	one = openJournal(t, s, "one", "someone")
	want("the first, opened again", one, "g", 2, false, "two three")
	shut(two)
	if err := s.Delete("two"); err != nil {
		t.Fatal(err)
	}
	want("the first, after a run was deleted", one, "g", 2, true, "three one")
	shut(three)
	shut(four)
	want("the first, alone", one, "g", 1, true, "one")
}

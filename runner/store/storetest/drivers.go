// One driver per run.

package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
)

func openJournal(t *testing.T, s store.Store, id, owner string) store.Journal {
	t.Helper()
	journal, err := s.Open(id, owner)
	if err != nil {
		t.Fatal(err)
	}
	return journal
}

// wantDriven checks that an error names a run and its driver.
func wantDriven(t *testing.T, what string, err error, owner string) {
	t.Helper()
	var driven *store.DrivenError
	if !errors.As(err, &driven) || driven.RunID != "one" || driven.Owner == "" || owner != "" && driven.Owner != owner {
		t.Errorf("%s gives %v, want that run one is driven by %q", what, err, owner)
	}
}

func testSingleDriver(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	appendEvents(t, journal, newEvents()[0])
	for _, owner := range []string{"", "first"} {
		_, err := s.Open("one", owner)
		wantDriven(t, "opening a run that is being created", err, "")
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	first := openJournal(t, s, "one", "first")
	for _, owner := range []string{"", "first", "second"} {
		_, err := s.Open("one", owner)
		wantDriven(t, "opening a run that "+owner+" has", err, "first")
	}
	wantDriven(t, "deleting a run that is driven", s.Delete("one"), "first")
	appendEvents(t, first, newEvents()[1])
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, openJournal(t, s, "one", ""), newEvents()[2])
	wantEvents(t, s, "one", newEvents()[:3])
}

func testDeleteRun(t *testing.T, s store.Store) {
	one, two := createRun(t, s, "one"), createRun(t, s, "two")
	appendEvents(t, one, newEvents()...)
	appendEvents(t, two, newEvents()[:2]...)
	if err := one.Snapshot(store.Snapshot{State: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("one"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Events("one", 0, math.MaxInt); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("events of a deleted run: %v, want ErrNoRun", err)
	}
	if _, err := s.Run("one"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("record of a deleted run: %v, want ErrNoRun", err)
	}
	if list, err := s.List(store.RunFilter{}); err != nil || joinIDs(list) != "two" {
		t.Errorf("left are %s, %v", joinIDs(list), err)
	}
	wantEvents(t, s, "two", newEvents()[:2])
	// The id is free, and nothing is left of the old run.
	createRun(t, s, "one", newEvents()[1])
	wantEvents(t, s, "one", newEvents()[1:2])
	wantSnapshot(t, s, -1, store.Snapshot{})
}

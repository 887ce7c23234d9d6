// Partial reads of a journal, and forks.

package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func testPartialReads(t *testing.T, s store.Store) {
	all := newEvents()
	createRun(t, s, "one", all...)
	createRun(t, s, "other", all[:2]...)
	for _, size := range []int{-1, 1, 200, 1 << 20} {
		var got []machine.Event
		for stretches := 0; ; stretches++ {
			part, err := s.Events("one", len(got), size)
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				if most := map[int]int{1 << 20: 1, 200: len(all) - 1}[size]; most > 0 && stretches > most {
					t.Errorf("%d stretches of %d bytes, want at most %d", stretches, size, most)
				}
				break
			}
			if size == 1 && len(part) != 1 {
				t.Errorf("%d events in a byte, want one", len(part))
			}
			got = append(got, part...)
			if size < 0 {
				break
			}
		}
		if size > 0 && !slices.Equal(encodeEvents(t, got), encodeEvents(t, all)) {
			t.Errorf("stretches of %d bytes: %d events, want %d", size, len(got), len(all))
		}
	}
	if _, err := s.Events("two", 0, 1); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a stretch of what is not there: %v, want ErrNoRun", err)
	}
}

func testForks(t *testing.T, s store.Store) {
	all := newEvents()
	journal := createRun(t, s, "one", all[:3]...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("three")}); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, journal, all[3:]...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("all")}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(store.RunRecord{ID: "two", Parent: "one", ParentStep: 2}, "one", 4, all[6], all[7])
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(all[:4], all[6:8])
	wantEvents(t, s, "two", want)
	since := 0 // bytes after the snapshot
	for _, text := range encodeEvents(t, want[3:]) {
		since += len(text)
	}
	if got := fork.BytesSinceSnapshot(); got != since {
		t.Errorf("%d bytes since the snapshot, want %d", got, since)
	}
	appendEvents(t, fork, all[1])
	if kept, err := s.Snapshot("two", -1); err != nil || kept.Events != 3 || string(kept.State) != "three" {
		t.Errorf("the snapshot of the fork is %v, %v", kept, err)
	}
	wantEvents(t, s, "one", all)
	if _, err := s.Fork(store.RunRecord{ID: "two"}, "one", 1); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("a second fork of one id: %v, want ErrRunExists", err)
	}
	if _, err := s.Fork(store.RunRecord{ID: "three"}, "nobody", 1); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a fork of nothing: %v, want ErrNoRun", err)
	}
	wantNoRun(t, s, "three")
	if err := s.Delete("one"); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, s, "two", append(want, all[1]))
}

// Tests of a store that several processes share, with several handles in one process.

package storetest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Handle opens another handle to the store of a test, like another process would.
type Handle func() store.Store

// RunShared runs the suite for stores that outlive their process. make returns a Handle to an empty
// store for each test.
func RunShared(t *testing.T, make func(t *testing.T) Handle) {
	t.Helper()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, open Handle)
	}{
		{"what is written stays", testReopen},
		{"others see who drives", testSharedDrivers},
		{"requests come from others", testSharedRequests},
		{"nothing is seen in part", testSharedReads},
		{"two take one run", testOpenRace},
	} {
		t.Run(test.name, func(t *testing.T) { test.do(t, make(t)) })
	}
}

func testReopen(t *testing.T, handle Handle) {
	s := handle()
	journal := createRun(t, s, "one")
	appendEvents(t, journal, newEvents()...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	saveCached(t, s, store.CacheEntry{Key: "k", Value: 1})
	if err := s.Close(); err != nil { // this also closes the journal
		t.Fatal(err)
	}
	again := handle()
	wantEvents(t, again, "one", newEvents())
	wantSnapshot(t, again, -1, store.Snapshot{Events: len(newEvents()), State: []byte("x")})
	if v, ok, err := again.LoadCached("k", time.Now()); v != 1 || !ok || err != nil {
		t.Errorf("the cache has %v, %t, %v", v, ok, err)
	}
	appendEvents(t, openJournal(t, again, "one", "other"), newEvents()[0])
	wantEvents(t, again, "one", append(newEvents(), newEvents()[0]))
}

func testSharedDrivers(t *testing.T, handle Handle) {
	here, there := handle(), handle()
	journal := createRun(t, here, "one", firstEvent())
	line := wantSummary(t, there, store.RunSummary{Status: machine.Running})
	if line.Owner == "" {
		t.Error("a run that is driven elsewhere has no owner")
	}
	_, err := there.Open("one", "there")
	wantDriven(t, "opening a run that is driven elsewhere", err, line.Owner)
	wantDriven(t, "deleting a run that is driven elsewhere", there.Delete("one"), line.Owner)
	if _, err := there.Create(store.RunRecord{ID: "one"}, firstEvent()); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("creating a run that is driven elsewhere: %v, want ErrRunExists", err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if line := wantSummary(t, there, store.RunSummary{Status: machine.Running}); line.Owner != "" {
		t.Errorf("a run that nobody drives is driven by %q", line.Owner)
	}
	appendEvents(t, openJournal(t, there, "one", "there"), newEvents()[1])
}

// testSharedReads reads through a second handle while the first one appends three events at a time.
func testSharedReads(t *testing.T, handle Handle) {
	const batches, size = 60, 3
	here, there := handle(), handle()
	batch := func(i int) []machine.Event {
		out := make([]machine.Event, size)
		for k := range out {
			out[k] = machine.Event{Kind: machine.Advanced, At: int64(i*size + k)}
		}
		return out
	}
	journal := createRun(t, here, "one", batch(0)...)
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for seen := 0; ; {
			list, err := there.Events("one", 0, math.MaxInt)
			if err != nil || len(list) < seen || len(list)%size != 0 {
				t.Errorf("%d events after %d, error %v; they are written by threes", len(list), seen, err)
				return
			}
			for i, e := range list {
				if e.At != int64(i) {
					t.Errorf("event %d is %d", i, e.At)
					return
				}
			}
			seen = len(list)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := 1; i < batches; i++ {
		if err := journal.Append(batch(i)...); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	reader.Wait()
	if list, err := there.Events("one", 0, math.MaxInt); err != nil || len(list) != batches*size {
		t.Errorf("%d events, want %d (%v)", len(list), batches*size, err)
	}
}

// testOpenRace opens one run through several handles at once.
func testOpenRace(t *testing.T, handle Handle) {
	const rivals = 6
	if err := createRun(t, handle(), "one", firstEvent()).Close(); err != nil {
		t.Fatal(err)
	}
	stores := make([]store.Store, rivals)
	for i := range stores {
		stores[i] = handle()
	}
	journals, failures := make([]store.Journal, rivals), make([]error, rivals)
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() { journals[i], failures[i] = s.Open("one", string(rune('a'+i))) })
	}
	all.Wait()
	winners := 0
	for i, err := range failures {
		if err == nil {
			winners++
			appendEvents(t, journals[i], newEvents()[1])
			continue
		}
		wantDriven(t, "losing the race", err, "")
	}
	if winners != 1 {
		t.Errorf("%d drivers have one run: %v", winners, slices.DeleteFunc(failures, func(err error) bool { return err == nil }))
	}
	wantEvents(t, stores[0], "one", newEvents()[:2])
}

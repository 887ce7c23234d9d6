// What several processes with one store rely on, tried with several handles.

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

// Handle opens one more handle on the store of a test, as another process would
// have it.
type Handle func() store.Store

// RunShared runs the suite for stores that outlive their process; make returns
// the way to an empty store for each of its tests.
func RunShared(t *testing.T, make func(t *testing.T) Handle) {
	t.Helper()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, open Handle)
	}{
		{"what is written stays", staysWritten},
		{"others see who drives", seesDrivers},
		{"requests come from others", hearsOthers},
		{"nothing is seen in part", showsWholes},
		{"two take one run", racesForRun},
	} {
		t.Run(test.name, func(t *testing.T) { test.do(t, make(t)) })
	}
}

func staysWritten(t *testing.T, handle Handle) {
	s := handle()
	journal := create(t, s, "one")
	add(t, journal, events()...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	keep(t, s, store.CacheEntry{Key: "k", Value: 1})
	if err := s.Close(); err != nil { // and the journal with it
		t.Fatal(err)
	}
	again := handle()
	wantEvents(t, again, "one", events())
	wantSnapshot(t, again, -1, store.Snapshot{Events: len(events()), State: []byte("x")})
	if v, ok, err := again.Cached("k", time.Now()); v != 1 || !ok || err != nil {
		t.Errorf("the cache has %v, %t, %v", v, ok, err)
	}
	add(t, open(t, again, "one", "other"), events()[0])
	wantEvents(t, again, "one", append(events(), events()[0]))
}

func seesDrivers(t *testing.T, handle Handle) {
	here, there := handle(), handle()
	journal := create(t, here, "one", begun())
	line := wantLine(t, there, store.RunSummary{Status: machine.Running})
	if line.Owner == "" {
		t.Error("a run that is driven elsewhere has no owner")
	}
	_, err := there.Open("one", "there")
	wantDriven(t, "opening a run that is driven elsewhere", err, line.Owner)
	wantDriven(t, "deleting a run that is driven elsewhere", there.Delete("one"), line.Owner)
	if _, err := there.Create(store.RunRecord{ID: "one"}, begun()); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("creating a run that is driven elsewhere: %v, want ErrRunExists", err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if line := wantLine(t, there, store.RunSummary{Status: machine.Running}); line.Owner != "" {
		t.Errorf("a run that nobody drives is driven by %q", line.Owner)
	}
	add(t, open(t, there, "one", "there"), events()[1])
}

// showsWholes reads by a second handle while the first one appends in threes.
func showsWholes(t *testing.T, handle Handle) {
	const batches, size = 60, 3
	here, there := handle(), handle()
	batch := func(i int) []machine.Event {
		out := make([]machine.Event, size)
		for k := range out {
			out[k] = machine.Event{Kind: machine.Advanced, At: int64(i*size + k)}
		}
		return out
	}
	journal := create(t, here, "one", batch(0)...)
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

// racesForRun lets several handles open one run at once.
func racesForRun(t *testing.T, handle Handle) {
	const rivals = 6
	if err := create(t, handle(), "one", begun()).Close(); err != nil {
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
			add(t, journals[i], events()[1])
			continue
		}
		wantDriven(t, "losing the race", err, "")
	}
	if winners != 1 {
		t.Errorf("%d drivers have one run: %v", winners, slices.DeleteFunc(failures, func(err error) bool { return err == nil }))
	}
	wantEvents(t, stores[0], "one", events()[:2])
}

// What several processes with one store rely on, tried with several handles.

package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Handle opens one more handle on the store of a test, as another process would
// have it. A lease holds for 15 s by the given clock, and drivers give no sign
// of life of their own accord.
type Handle func(now func() time.Time) store.Store

// RunShared runs the suite for stores that outlive their process; make returns
// the way to an empty store for each of its tests.
func RunShared(t *testing.T, make func(t *testing.T) Handle) {
	t.Helper()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, open Handle)
	}{
		{"what is written stays", staysWritten},
		{"leases run out", expiresLeases},
		{"leases are seen by others", seesLeases},
		{"requests come from others", hearsOthers},
		{"a namesake goes on", letsNamesakesOn},
		{"a driver of a deleted run", stopsDriversOfDeleted},
		{"nothing is seen in part", showsWholes},
		{"two take one run", racesForLease},
	} {
		t.Run(test.name, func(t *testing.T) { test.do(t, make(t)) })
	}
}

// ticker is a clock that tests move.
type ticker struct {
	mu  sync.Mutex
	now time.Time
}

func newTicker() *ticker { return &ticker{now: startAt(0)} }

func (c *ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ticker) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func staysWritten(t *testing.T, handle Handle) {
	clock := newTicker()
	s := handle(clock.Now)
	journal := create(t, s, "one")
	add(t, journal, events()...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	keep(t, s, store.CacheEntry{Key: "k", Value: 1})
	if err := s.Close(); err != nil { // and the journal with it
		t.Fatal(err)
	}
	again := handle(clock.Now)
	wantEvents(t, again, "one", events())
	wantSnapshot(t, again, -1, store.Snapshot{Events: len(events()), State: []byte("x")})
	if v, ok, err := again.Cached("k", clock.Now()); v != 1 || !ok || err != nil {
		t.Errorf("the cache has %v, %t, %v", v, ok, err)
	}
	add(t, open(t, again, "one", "other"), events()[0])
	wantEvents(t, again, "one", append(events(), events()[0]))
}

// expiresLeases lets a driver be silent for too long.
func expiresLeases(t *testing.T, handle Handle) {
	clock := newTicker()
	here, there := handle(clock.Now), handle(clock.Now)
	lost := create(t, here, "one")
	add(t, lost, events()[0])
	clock.pass(15*time.Second - 1)
	_, err := there.Open("one", "there")
	wantLeased(t, "opening a run shortly before its lease ends", err, "")
	clock.pass(1)
	// Nobody has taken it, so its driver may go on.
	add(t, lost, events()[1])
	taken := open(t, there, "one", "there")
	for _, err := range []error{
		lost.Append(events()[2]), lost.AppendAll(events()[2:4]), lost.Snapshot(store.Snapshot{}), lost.Note(store.RunSummary{Status: machine.Failed}),
	} {
		wantLeased(t, "writing without the lease", err, "there")
	}
	add(t, taken, events()[2])
	ask(t, here, "one", store.RequestPause)
	if err := lost.Close(); err != nil {
		t.Errorf("closing a journal that was taken over: %v", err)
	}
	wantRequest(t, taken, store.RequestPause) // who lost the run took nothing along
	_, err = here.Open("one", "here")
	wantLeased(t, "opening a run that was taken over", err, "there")
	add(t, taken, events()[3])
	wantEvents(t, here, "one", events()[:4])
	wantLine(t, here, store.RunSummary{Status: machine.Running})
}

func seesLeases(t *testing.T, handle Handle) {
	clock := newTicker()
	here, there := handle(clock.Now), handle(clock.Now)
	journal := create(t, here, "one", begun())
	line := wantLine(t, there, store.RunSummary{Status: machine.Running})
	if line.Owner == "" || !line.Until.Equal(clock.Now().Add(15*time.Second)) {
		t.Errorf("held by %q until %s", line.Owner, line.Until)
	}
	wantLeased(t, "deleting a run that is driven elsewhere", there.Delete("one"), line.Owner)
	clock.pass(15 * time.Second)
	if line := wantLine(t, there, store.RunSummary{Status: machine.Running}); line.Owner != "" || !line.Until.IsZero() {
		t.Errorf("a lease that ran out is held by %q until %s", line.Owner, line.Until)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
}

// letsNamesakesOn starts an owner anew while its lease still holds.
func letsNamesakesOn(t *testing.T, handle Handle) {
	clock := newTicker()
	before, after := handle(clock.Now), handle(clock.Now)
	if err := create(t, before, "one", begun()).Close(); err != nil {
		t.Fatal(err)
	}
	old := open(t, before, "one", "worker 1")
	add(t, old, events()[1])
	add(t, open(t, after, "one", "worker 1"), events()[2])
	wantLeased(t, "writing by the journal of before", old.Append(events()[3]), "worker 1")
	wantEvents(t, before, "one", events()[:3])
}

// stopsDriversOfDeleted deletes a run whose driver is silent; another run gets
// its id, and its place in the file.
func stopsDriversOfDeleted(t *testing.T, handle Handle) {
	clock := newTicker()
	here, there := handle(clock.Now), handle(clock.Now)
	journal := create(t, here, "one")
	add(t, journal, events()[0])
	clock.pass(15 * time.Second)
	if err := there.Delete("one"); err != nil {
		t.Fatal(err)
	}
	add(t, create(t, there, "two"), events()[1])
	if err := journal.Append(events()[2]); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("appending to a deleted run gives %v, want ErrNoRun", err)
	}
	wantEvents(t, there, "two", events()[1:2])
}

// showsWholes reads by a second handle while the first one appends in threes.
func showsWholes(t *testing.T, handle Handle) {
	const batches, size = 60, 3
	here, there := handle(time.Now), handle(time.Now)
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
			list, err := there.Events("one")
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
		if err := journal.AppendAll(batch(i)); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	reader.Wait()
	if list, err := there.Events("one"); err != nil || len(list) != batches*size {
		t.Errorf("%d events, want %d (%v)", len(list), batches*size, err)
	}
}

// racesForLease lets several handles open one run at once.
func racesForLease(t *testing.T, handle Handle) {
	const rivals = 6
	clock := newTicker()
	if err := create(t, handle(clock.Now), "one", begun()).Close(); err != nil {
		t.Fatal(err)
	}
	stores := make([]store.Store, rivals)
	for i := range stores {
		stores[i] = handle(clock.Now)
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
		wantLeased(t, "losing the race", err, "")
	}
	if winners != 1 {
		t.Errorf("%d drivers have one run: %v", winners, slices.DeleteFunc(failures, func(err error) bool { return err == nil }))
	}
	wantEvents(t, stores[0], "one", events()[:2])
}

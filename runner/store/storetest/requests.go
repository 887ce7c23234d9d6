// Requests: what others want of the driver of a run.

package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

func ask(t *testing.T, s store.Store, id string, request store.Request) {
	t.Helper()
	if err := s.Ask(id, request); err != nil {
		t.Fatal(err)
	}
}

// wantRequest waits for the next request.
func wantRequest(t *testing.T, journal store.Journal, want store.Request) {
	t.Helper()
	select {
	case got := <-journal.Asked():
		if got != want {
			t.Errorf("the driver is asked to %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nobody asks the driver to %s", want)
	}
}

func deliversRequests(t *testing.T, s store.Store) {
	if err := s.Ask("one", store.RequestPause); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("asking for a run that is not there gives %v", err)
	}
	journal := create(t, s, "one", begun())
	bystander := create(t, s, "two", begun())
	ask(t, s, "one", store.RequestPause)
	wantRequest(t, journal, store.RequestPause)
	ask(t, s, "one", store.RequestPause)
	ask(t, s, "one", store.RequestCancel)
	wantRequest(t, journal, store.RequestCancel)
	ask(t, s, "one", store.RequestPause)
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "one", store.RequestPause) // of nobody
	journal = open(t, s, "one", "")
	because := store.CancelBecause("it is in the way")
	ask(t, s, "one", because)
	wantRequest(t, journal, because)
	ask(t, s, "one", store.RequestPause) // it is too late for that
	select {
	case got := <-bystander.Asked():
		t.Errorf("the driver of another run is asked to %s", got)
	case got := <-journal.Asked():
		t.Errorf("a driver that was asked to cancel is asked to %s", got)
	default:
	}
}

// hearsOthers asks by another handle.
func hearsOthers(t *testing.T, handle Handle) {
	here, there := handle(), handle()
	journal := create(t, here, "one", begun())
	ask(t, there, "one", store.RequestCancel)
	wantRequest(t, journal, store.RequestCancel)
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	// Taken over, the run is nobody's to cancel.
	again := open(t, there, "one", "there")
	ask(t, here, "one", store.RequestPause)
	wantRequest(t, again, store.RequestPause)
}

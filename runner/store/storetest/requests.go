// Requests from other processes to the driver of a run.

package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

func sendRequest(t *testing.T, s store.Store, id string, request store.Request) {
	t.Helper()
	if err := s.SendRequest(id, request); err != nil {
		t.Fatal(err)
	}
}

// wantRequest waits for the next request.
func wantRequest(t *testing.T, journal store.Journal, want store.Request) {
	t.Helper()
	select {
	case got := <-journal.Requests():
		if got != want {
			t.Errorf("the driver is asked to %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nobody asks the driver to %s", want)
	}
}

func testRequests(t *testing.T, s store.Store) {
	if err := s.SendRequest("one", store.RequestPause); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("asking for a run that is not there gives %v", err)
	}
	journal := createRun(t, s, "one", firstEvent())
	bystander := createRun(t, s, "two", firstEvent())
	sendRequest(t, s, "one", store.RequestPause)
	wantRequest(t, journal, store.RequestPause)
	sendRequest(t, s, "one", store.RequestPause)
	sendRequest(t, s, "one", store.RequestCancel)
	wantRequest(t, journal, store.RequestCancel)
	sendRequest(t, s, "one", store.RequestPause)
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	sendRequest(t, s, "one", store.RequestPause) // without a driver
	journal = openJournal(t, s, "one", "")
	because := store.NewCancelRequest("it is in the way")
	sendRequest(t, s, "one", because)
	wantRequest(t, journal, because)
	sendRequest(t, s, "one", store.RequestPause) // a pause after a cancel is ignored
	select {
	case got := <-bystander.Requests():
		t.Errorf("the driver of another run is asked to %s", got)
	case got := <-journal.Requests():
		t.Errorf("a driver that was asked to cancel is asked to %s", got)
	default:
	}
}

// testSharedRequests sends requests through another handle.
func testSharedRequests(t *testing.T, handle Handle) {
	here, there := handle(), handle()
	journal := createRun(t, here, "one", firstEvent())
	sendRequest(t, there, "one", store.RequestCancel)
	wantRequest(t, journal, store.RequestCancel)
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	// A request to the old driver does not reach the new one.
	again := openJournal(t, there, "one", "there")
	sendRequest(t, here, "one", store.RequestPause)
	wantRequest(t, again, store.RequestPause)
}

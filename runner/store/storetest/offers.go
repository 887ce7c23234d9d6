// Offers: answers from other processes to the driver of a run.

package storetest

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func sendOffer(t *testing.T, s store.Store, run, id string) {
	t.Helper()
	err := s.SendOffer(run, store.Offer{ID: id, By: "ann", At: time.Unix(9, 0).UTC(), Answers: []store.GivenAnswer{{Target: "a", Text: id}}})
	if err != nil {
		t.Fatal(err)
	}
}

func wantOffer(t *testing.T, journal store.Journal, id string) {
	t.Helper()
	select {
	case got := <-journal.Offers():
		if got.ID != id || got.By != "ann" || len(got.Answers) != 1 || got.Answers[0] != (store.GivenAnswer{Target: "a", Text: id}) {
			t.Errorf("the driver is offered %+v, want %s", got, id)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nobody offers %s", id)
	}
}

func wantOffered(t *testing.T, s store.Store, id string, open bool, refused string) {
	t.Helper()
	if isOpen, why, err := s.OfferStatus(id); isOpen != open || why != refused || err != nil {
		t.Errorf("offer %s is open: %v, refused: %q (%v); want %v, %q", id, isOpen, why, err, open, refused)
	}
}

func testOffers(t *testing.T, s store.Store) {
	if err := s.SendOffer("one", store.Offer{ID: "x"}); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("an offer for a run that is not there gives %v", err)
	}
	journal := createRun(t, s, "one", firstEvent())
	bystander := createRun(t, s, "two", firstEvent())
	settle := func(id, refused string, want bool) {
		t.Helper()
		taken, err := journal.SettleOffer(id, []machine.Event{{Kind: machine.Answered, Output: id}}, refused)
		if taken != want || err != nil {
			t.Errorf("settling %s takes it: %v (%v), want %v", id, taken, err, want)
		}
	}
	for _, id := range []string{"p", "q", "r"} {
		sendOffer(t, s, "one", id)
		wantOffer(t, journal, id)
		wantOffered(t, s, id, true, "")
	}
	settle("p", "", true)
	wantOffered(t, s, "p", false, "")
	settle("p", "", false) // the offer is deleted
	settle("q", "because", false)
	wantOffered(t, s, "q", false, "because")
	if open, refused, err := s.WithdrawOffer("q"); open || refused != "because" || err != nil {
		t.Errorf("what was refused was open until now: %v, %q (%v)", open, refused, err)
	}
	wantOffered(t, s, "q", false, "")
	if open, refused, err := s.WithdrawOffer("r"); !open || refused != "" || err != nil {
		t.Errorf("what nobody settled was open until now: %v, %q (%v)", open, refused, err)
	}
	settle("r", "", false)
	sendOffer(t, s, "one", "t") // after the withdrawn offer
	wantOffer(t, journal, "t")
	settle("t", "no", false)
	sendOffer(t, s, "one", "s") // stays for the next driver
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	journal = openJournal(t, s, "one", "")
	wantOffer(t, journal, "s")
	settle("s", "", true)
	events, err := s.Events("one", 0, math.MaxInt)
	if err != nil || len(events) != 3 || events[1].Output != "p" || events[2].Output != "s" {
		t.Errorf("journal %+v (%v), want the answers p and s", events, err)
	}
	select {
	case got := <-bystander.Offers():
		t.Errorf("the driver of another run is offered %+v", got)
	default:
	}
}

// testListDue checks that a filter finds runs that are due.
func testListDue(t *testing.T, s store.Store) {
	at := time.Unix(1000, 0)
	for id, due := range map[string]time.Time{"early": at, "late": at.Add(time.Hour), "never": {}} {
		journal := createRun(t, s, id, firstEvent())
		if err := journal.SaveSummary(store.RunSummary{Status: machine.Paused, Reason: "wait", Due: due}); err != nil {
			t.Fatal(err)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(store.RunFilter{DueBy: at})
	if err != nil || len(list) != 1 || list[0].ID != "early" || !list[0].Due.Equal(at) {
		t.Errorf("due: %+v (%v), want the early one", list, err)
	}
	journal := openJournal(t, s, "early", "")
	if err := journal.SaveSummary(store.RunSummary{Status: machine.Paused, Reason: "wait"}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(store.RunFilter{DueBy: at}); err != nil || len(list) > 0 {
		t.Errorf("due: %+v (%v), want none", list, err)
	}
}

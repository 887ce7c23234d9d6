// Requests and answers from other processes to the driver of a run.

package store

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Offer holds answers to questions of a run. The driver takes all of them or none.
type Offer struct {
	// ID is unique.
	ID      string        `json:"id"`
	Answers []GivenAnswer `json:"answers"`
	By      string        `json:"by"` // who answers
	At      time.Time     `json:"at"`
}

// GivenAnswer is an answer as a person gives it: YAML, JSON, or a choice's first letters or
// number. Target is as in view.Pending; node names may be cut to a unique beginning.
type GivenAnswer struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Request is a request to the driver of a run.
type Request string

// The requests. They have the effect of an interrupt, or of a breakpoint.
const (
	// RequestCancel ends the run; its running nodes are cancelled.
	RequestCancel Request = "cancel"
	// RequestPause pauses the run when what runs has ended.
	RequestPause Request = "pause"
)

// CancelBecause returns a RequestCancel with a reason of one line.
func CancelBecause(why string) Request { return RequestCancel + ": " + Request(why) }

// Cancels reports whether r is a RequestCancel, and returns its reason.
func (r Request) Cancels() (why string, cancels bool) {
	if r == RequestCancel {
		return "", true
	}
	return strings.CutPrefix(string(r), string(RequestCancel)+": ")
}

func requestKey(runID string) string { return keyOf("request", runID) }

// Ask leaves a request for the driver of a run.
func (s *KVStore) Ask(runID string, request Request) error {
	return s.leaveMessage(runID, func(tx Tx) error {
		earlier, err := tx.Get(requestKey(runID))
		if _, cancels := Request(earlier).Cancels(); err != nil || cancels {
			return err
		}
		return tx.Put(requestKey(runID), []byte(request))
	})
}

// leaveMessage stores a message to the driver of a run, which gets it at once in this process.
func (s *KVStore) leaveMessage(runID string, put func(tx Tx) error) error {
	err := s.storage().Update(func(tx Tx) error {
		if _, err := getRun(tx, runID); err != nil {
			return err
		}
		return put(tx)
	})
	if j, isOpen := s.open.Load(runID); isOpen && err == nil {
		j.(*journal).Deliver()
	}
	return err
}

// savedOffer is an offer that is open or refused.
type savedOffer struct {
	Offer
	RunID   string `json:"run_id"`
	Refused string `json:"refused,omitempty"`
}

func offerKey(id string) string { return keyOf("offer", id) }

// Offer leaves an offer for the driver of a run.
func (s *KVStore) Offer(runID string, offer Offer) error {
	return s.leaveMessage(runID, func(tx Tx) error {
		return putJSON(tx, offerKey(offer.ID), savedOffer{Offer: offer, RunID: runID})
	})
}

// offersFor returns the offers for a run, the oldest first.
func offersFor(tx Tx, runID string) (out []savedOffer, err error) {
	err = visitJSON(tx, "offer/", func(offer *savedOffer) bool {
		if offer.RunID == runID {
			out = append(out, *offer)
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b savedOffer) int { return a.At.Compare(b.At) })
	return out, err
}

func deleteOffers(tx Tx, runID string) error {
	offers, err := offersFor(tx, runID)
	for i := range offers {
		err = errors.Join(err, tx.Delete(offerKey(offers[i].ID)))
	}
	return err
}

func getOfferStatus(tx Tx, id string) (open bool, refused string, err error) {
	var offer savedOffer
	found, err := getJSON(tx, offerKey(id), &offer)
	return found && err == nil && offer.Refused == "", offer.Refused, err
}

// Offered returns whether an offer is open, and why it was refused.
func (s *KVStore) Offered(id string) (open bool, refused string, err error) {
	err = s.storage().View(func(tx Tx) (err error) {
		open, refused, err = getOfferStatus(tx, id)
		return err
	})
	return open, refused, err
}

// Withdraw deletes an offer.
func (s *KVStore) Withdraw(id string) (open bool, refused string, err error) {
	err = s.storage().Update(func(tx Tx) (err error) {
		if open, refused, err = getOfferStatus(tx, id); err != nil {
			return err
		}
		return tx.Delete(offerKey(id))
	})
	return open && err == nil, refused, err
}

// settleOffer refuses an offer with a reason, or takes an open one. See Journal.Settle.
func settleOffer(tx Tx, id, refused string) (taken bool, err error) {
	var offer savedOffer
	found, err := getJSON(tx, offerKey(id), &offer)
	switch {
	case err != nil || !found:
		return false, err
	case refused != "":
		offer.Refused = refused
		return false, putJSON(tx, offerKey(id), offer)
	case offer.Refused != "":
		return false, nil
	}
	return true, tx.Delete(offerKey(id))
}

// inbox delivers requests and offers to the driver of a run.
type inbox struct {
	kv     KV
	runID  string
	asked  chan Request
	offers chan Offer

	mu        sync.Mutex // of what follows
	latest    Request
	delivered map[string]bool // offers
}

func newInbox(kv KV, runID string) *inbox {
	return &inbox{
		kv: kv, runID: runID, delivered: map[string]bool{}, offers: make(chan Offer, 16),
		asked: make(chan Request, 3), // to pause, then to cancel; to cancel, since the store is gone
	}
}

// Asked delivers requests.
func (i *inbox) Asked() <-chan Request { return i.asked }

// Offers delivers offers.
func (i *inbox) Offers() <-chan Offer { return i.offers }

// Deliver delivers what is new, without waiting for the driver. It retries failed reads later.
func (i *inbox) Deliver() {
	i.mu.Lock()
	defer i.mu.Unlock()
	var request Request
	var offers []savedOffer
	if i.kv.View(func(tx Tx) error {
		text, err := tx.Get(requestKey(i.runID))
		if err == nil {
			request = Request(text)
			offers, err = offersFor(tx, i.runID)
		}
		return err
	}) != nil {
		return
	}
	if request != "" && request != i.latest {
		i.latest = request
		i.asked <- request
	}
	for _, offer := range offers {
		if offer.Refused != "" || i.delivered[offer.ID] {
			continue
		}
		select {
		case i.offers <- offer.Offer:
			i.delivered[offer.ID] = true
		default: // the driver is busy
		}
	}
}

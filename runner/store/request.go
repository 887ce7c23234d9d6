// Requests and answers from other processes to the driver of a run.

package store

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Offer holds answers to questions of a run. The driver accepts all of them or none.
type Offer struct {
	// ID is unique.
	ID      string        `json:"id"`
	Answers []GivenAnswer `json:"answers"`
	By      string        `json:"by"` // the person who answers
	At      time.Time     `json:"at"`
}

// GivenAnswer is an answer as a person typed it: YAML, JSON, or a choice's first letters or number. For
// Target see view.Pending. Node names may be shortened to a unique prefix.
type GivenAnswer struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Request is a request to the driver of a run.
type Request string

// The requests. A cancel acts like an interrupt signal, a pause like a breakpoint.
const (
	// RequestCancel cancels the running nodes and ends the run.
	RequestCancel Request = "cancel"
	// RequestPause pauses the run when its running nodes have ended.
	RequestPause Request = "pause"
)

// NewCancelRequest returns a RequestCancel with a reason of one line.
func NewCancelRequest(why string) Request { return RequestCancel + ": " + Request(why) }

// CancelReason reports whether r is a RequestCancel, and returns its reason.
func (r Request) CancelReason() (why string, cancels bool) {
	if r == RequestCancel {
		return "", true
	}
	return strings.CutPrefix(string(r), string(RequestCancel)+": ")
}

func requestKey(runID string) string { return joinKey("request", runID) }

// SendRequest stores a request for the driver of a run.
func (s *KVStore) SendRequest(runID string, request Request) error {
	return s.leaveMessage(runID, func(tx Tx) error {
		earlier, err := tx.Get(requestKey(runID))
		if _, cancels := Request(earlier).CancelReason(); err != nil || cancels {
			return err
		}
		return tx.Put(requestKey(runID), []byte(request))
	})
}

// leaveMessage stores a message for a run's driver. A driver in this process gets it at once.
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

func offerKey(id string) string { return joinKey("offer", id) }

// SendOffer stores an offer for the driver of a run.
func (s *KVStore) SendOffer(runID string, offer Offer) error {
	return s.leaveMessage(runID, func(tx Tx) error {
		return putJSON(tx, offerKey(offer.ID), savedOffer{Offer: offer, RunID: runID})
	})
}

// listOffers returns the offers for a run, the oldest first.
func listOffers(tx Tx, runID string) (out []savedOffer, err error) {
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
	offers, err := listOffers(tx, runID)
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

// OfferStatus reports whether an offer is open, and why it was refused.
func (s *KVStore) OfferStatus(id string) (open bool, refused string, err error) {
	err = s.storage().View(func(tx Tx) (err error) {
		open, refused, err = getOfferStatus(tx, id)
		return err
	})
	return open, refused, err
}

// WithdrawOffer deletes an offer.
func (s *KVStore) WithdrawOffer(id string) (open bool, refused string, err error) {
	err = s.storage().Update(func(tx Tx) (err error) {
		if open, refused, err = getOfferStatus(tx, id); err != nil {
			return err
		}
		return tx.Delete(offerKey(id))
	})
	return open && err == nil, refused, err
}

// settleOffer refuses an offer with a reason, or accepts an open one. See Journal.SettleOffer.
func settleOffer(tx Tx, id, refused string) (accepted bool, err error) {
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
	kv       KV
	runID    string
	requests chan Request
	offers   chan Offer

	mu        sync.Mutex // guards the fields below
	latest    Request
	delivered map[string]bool // ids of offers
}

func newInbox(kv KV, runID string) *inbox {
	return &inbox{
		kv: kv, runID: runID, delivered: map[string]bool{}, offers: make(chan Offer, 16),
		requests: make(chan Request, 3), // to pause, to cancel, and to cancel since the store is gone
	}
}

// Requests delivers requests.
func (i *inbox) Requests() <-chan Request { return i.requests }

// Offers delivers offers.
func (i *inbox) Offers() <-chan Offer { return i.offers }

// Deliver delivers new requests and offers, and does not wait for the driver. It ignores failed reads.
func (i *inbox) Deliver() {
	i.mu.Lock()
	defer i.mu.Unlock()
	var request Request
	var offers []savedOffer
	if i.kv.View(func(tx Tx) error {
		text, err := tx.Get(requestKey(i.runID))
		if err == nil {
			request = Request(text)
			offers, err = listOffers(tx, i.runID)
		}
		return err
	}) != nil {
		return
	}
	if request != "" && request != i.latest {
		i.latest = request
		i.requests <- request
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

// What others ask of the driver of a run, and answer for it.

package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Offer is what somebody answers to questions of a run: all of it is taken, or
// nothing.
type Offer struct {
	// ID is drawn by who makes the offer, and never used again.
	ID      string        `json:"id"`
	Answers []GivenAnswer `json:"answers"`
	// By says who answers.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// GivenAnswer is an answer as a person gives it: to the question of that name (see
// view.Pending.Target; the beginnings of nodes' names will do where nothing else
// begins so), as text: the answer itself, or what it means as YAML or JSON, or the first letters or
// the number of a choice.
type GivenAnswer struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Request is what somebody else asks of the driver of a run.
type Request string

// The requests. The driver does what an interrupt, or a breakpoint, would do.
const (
	// RequestCancel ends the run; its running nodes are cancelled.
	RequestCancel Request = "cancel"
	// RequestPause pauses the run when what runs has ended.
	RequestPause Request = "pause"
)

// CancelBecause is RequestCancel by somebody who says why, on one line.
func CancelBecause(why string) Request { return RequestCancel + ": " + Request(why) }

// Cancels reports whether it is RequestCancel, and why when that is said.
func (r Request) Cancels() (why string, cancels bool) {
	if r == RequestCancel {
		return "", true
	}
	return strings.CutPrefix(string(r), string(RequestCancel)+": ")
}

// inboxKey begins the keys of what is left for a run's driver.
func inboxKey(runID string) string { return keyOf("inbox", runID) + "/" }

func requestKey(runID string) string { return inboxKey(runID) + "request" }

// Ask leaves a request for the driver of a run.
func (r *Records) Ask(runID string, request Request) error {
	err := r.base().Update(false, func(tx Tx) error {
		if _, _, err := tx.Run(runID); err != nil {
			return err
		}
		earlier, err := tx.Get(requestKey(runID))
		if _, cancels := Request(earlier).Cancels(); err != nil || cancels {
			return err
		}
		return tx.Put(requestKey(runID), []byte(request))
	})
	if err == nil {
		r.base().Notify(runID)
	}
	return err
}

// savedOffer is an offer that is open or refused.
type savedOffer struct {
	Offer
	Refused string `json:"refused,omitempty"`
}

// offerPrefix begins the keys of a run's offers, which are in the order of their arrival.
func offerPrefix(runID string) string { return inboxKey(runID) + "offer/" }

// offerKey is where the key of an offer is kept.
func offerKey(id string) string { return keyOf("offer", id) }

// Offer leaves an offer for the driver of a run.
func (r *Records) Offer(runID string, offer Offer) error {
	err := r.base().Update(false, func(tx Tx) error {
		if _, _, err := tx.Run(runID); err != nil {
			return err
		}
		key := fmt.Sprintf("%s%016x-%s", offerPrefix(runID), r.base().Now().UnixNano(), keyOf(offer.ID))
		return errors.Join(tx.Put(offerKey(offer.ID), []byte(key)), putJSON(tx, key, savedOffer{Offer: offer}))
	})
	if err == nil {
		r.base().Notify(runID)
	}
	return err
}

// findOffer returns an offer and its key, which is "" if there is none.
func findOffer(tx Tx, id string) (key string, offer savedOffer, err error) {
	at, err := tx.Get(offerKey(id))
	if err != nil || at == nil {
		return "", offer, err
	}
	_, err = getJSON(tx, string(at), &offer)
	return string(at), offer, err
}

func deleteOffer(tx Tx, id, key string) error {
	return errors.Join(tx.Delete(key), tx.Delete(offerKey(id)))
}

func deleteOffers(tx Tx, runID string) error {
	pairs, err := tx.Scan(offerPrefix(runID), "", -1)
	for _, p := range pairs {
		var offer savedOffer
		err = errors.Join(err, decodeJSON(p, &offer), deleteOffer(tx, offer.ID, p.Key))
	}
	return err
}

// Offered says how an offer stands.
func (r *Records) Offered(id string) (open bool, refused string, err error) {
	err = r.base().View(func(tx Tx) error {
		key, offer, err := findOffer(tx, id)
		open, refused = key != "" && offer.Refused == "", offer.Refused
		return err
	})
	return open && err == nil, refused, err
}

// Withdraw deletes an offer.
func (r *Records) Withdraw(id string) (open bool, refused string, err error) {
	err = r.base().Update(false, func(tx Tx) error {
		key, offer, err := findOffer(tx, id)
		open, refused = key != "" && offer.Refused == "", offer.Refused
		if err != nil || key == "" {
			return err
		}
		return deleteOffer(tx, id, key)
	})
	return open && err == nil, refused, err
}

// settleOffer refuses an offer with a reason, or takes it if it is still open. The caller
// adds events in the same transaction if it was taken. See Journal.Settle.
func settleOffer(tx Tx, id, refused string) (taken bool, err error) {
	key, offer, err := findOffer(tx, id)
	if err != nil || key == "" {
		return false, err
	}
	if refused != "" {
		offer.Refused = refused
		return false, putJSON(tx, key, offer)
	}
	if offer.Refused != "" {
		return false, nil
	}
	return true, deleteOffer(tx, id, key)
}

// Inbox delivers to the driver of a run what others leave for it.
type Inbox struct {
	base   Base
	runID  string
	asked  chan Request
	offers chan Offer

	mu        sync.Mutex // of what follows
	latest    Request
	delivered map[string]bool // offers
}

func newInbox(base Base, runID string) *Inbox {
	return &Inbox{
		base: base, runID: runID, delivered: map[string]bool{}, offers: make(chan Offer, 16),
		asked: make(chan Request, 3), // to pause, then to cancel; to cancel, since the store is gone
	}
}

// Asked delivers requests.
func (i *Inbox) Asked() <-chan Request { return i.asked }

// Offers delivers offers.
func (i *Inbox) Offers() <-chan Offer { return i.offers }

// Look delivers what is new. It never waits for the driver, and leaves to the next call what it
// can't read now.
func (i *Inbox) Look() {
	i.mu.Lock()
	defer i.mu.Unlock()
	var pairs []Pair
	if i.base.View(func(tx Tx) (err error) {
		pairs, err = tx.Scan(inboxKey(i.runID), "", -1)
		return err
	}) != nil {
		return
	}
	for _, p := range pairs {
		if p.Key == requestKey(i.runID) {
			if request := Request(p.Value); request != i.latest {
				i.latest = request
				i.asked <- request
			}
			continue
		}
		var offer savedOffer
		if decodeJSON(p, &offer) != nil || offer.Refused != "" || i.delivered[offer.ID] {
			continue
		}
		select {
		case i.offers <- offer.Offer:
			i.delivered[offer.ID] = true
		default: // the driver is busy
		}
	}
}

// Answers for a run that somebody else drives.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
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
// Pending.Target; the beginnings of nodes' names will do where nothing else begins so),
// as text: the answer itself, or what it means as YAML or JSON, or the first letters or
// the number of a choice.
type GivenAnswer struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

// OfferStore keeps offers until the driver of their run has settled them.
type OfferStore interface {
	// Offer leaves an offer for whoever drives a run, now or later. It fails with
	// ErrNoRun.
	Offer(runID string, offer Offer) error
	// Offered says how an offer stands: open until a driver has settled it, and
	// refused with the reason if it was. An offer that is neither was taken or
	// withdrawn, or the run is gone.
	Offered(id string) (open bool, refused string, err error)
	// Withdraw forgets an offer. It says how the offer stood, as Offered does.
	Withdraw(id string) (open bool, refused string, err error)
}

// OfferJournal is the driver's end of it.
type OfferJournal interface {
	// Offers delivers the offers that are open, each once and within about a
	// second; nil: there never are any.
	Offers() <-chan Offer
	// Settle takes an offer, by adding events as AppendAll does, and forgets it in
	// the same commit; with a reason it refuses it. An offer that was withdrawn
	// meanwhile is not taken: taken is false, and nothing was added.
	Settle(id string, events []machine.Event, refused string) (taken bool, err error)
}

// Answers for a run that somebody else drives.

package runner

import (
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
// Pending.Target; the beginnings of nodes' names will do where nothing else begins so),
// as text: the answer itself, or what it means as YAML or JSON, or the first letters or
// the number of a choice.
type GivenAnswer struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

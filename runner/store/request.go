// What others ask of the driver of a run, and answer for it.

package store

import (
	"strings"
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

// Groups of runs: how many of them run at once (GraphSpec §2, concurrency).

package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// GroupState is how a group stands for a run that asks for a place.
type GroupState struct {
	// Inside says that the run has a place.
	Inside bool
	// Members are the runs that have one, the one that is inside longest first.
	Members []GroupMember
}

// GroupMember is a run that is inside a group.
type GroupMember struct {
	RunID string `json:"run_id"`
	Graph string `json:"graph"`
	// Owner is who drives it.
	Owner string    `json:"owner"`
	Since time.Time `json:"since"`
}

// TurnJournal is a Journal that knows when it is worth while to ask for the place again:
// a run whose journal is none asks all the time.
type TurnJournal interface {
	Journal
	// AwaitTurn returns when the next Enter may say something else than the last one did,
	// with an empty request; or with what somebody asks of the run that waits.
	AwaitTurn() Request
}

// Waiting is what a run waits for that found its group busy (runner.RunWaiting).
type Waiting struct {
	Group   string        `json:"group"`
	Limit   int           `json:"limit"`
	Members []GroupMember `json:"holders"`
	// Cancelling is the run that was asked to cancel; empty: none was.
	Cancelling string `json:"cancelling,omitempty"`
}

// String says who is inside.
func (w *Waiting) String() string {
	holders := make([]string, len(w.Members))
	for i, m := range w.Members {
		holders[i] = fmt.Sprintf("%s (%s, since %s)", m.RunID, m.Graph, m.Since.Format(time.TimeOnly))
	}
	return fmt.Sprintf("group %q is busy: %d of at most %d inside: %s", w.Group, len(w.Members), w.Limit, strings.Join(holders, ", "))
}

// BusyError says that a run found no place in its group, and does not wait for one.
type BusyError struct {
	RunID string
	Waiting
}

// Error names the group and who is inside.
func (e *BusyError) Error() string {
	return fmt.Sprintf("run %q: %s, and concurrency.on_busy is fail", e.RunID, e.Waiting.String())
}

// ErrStopped says that a run was not let into its group before somebody cancelled or
// paused it.
var ErrStopped = errors.New("the run was stopped before there was a place in its group")

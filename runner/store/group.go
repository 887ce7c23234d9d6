// Groups limit how many of their runs execute at once (GraphSpec §2, concurrency).

package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GroupState is the state of a group for a run that asks for a slot.
type GroupState struct {
	// Inside means that the run has a slot.
	Inside bool
	// Members are the runs that have a slot, the oldest first.
	Members []GroupMember
}

// GroupMember is a run in a group.
type GroupMember struct {
	RunID string    `json:"run_id"`
	Graph string    `json:"graph"`
	Owner string    `json:"owner"` // the run's driver
	Since time.Time `json:"since"`
}

// TurnJournal is a Journal that can wait for its turn in a group. For other journals the driver polls
// EnterGroup.
type TurnJournal interface {
	Journal
	// AwaitTurn waits until EnterGroup may return another result, or for a request to the run.
	AwaitTurn() Request
}

// Waiting describes the busy group that a run waits for (runner.RunWaiting).
type Waiting struct {
	Group   string        `json:"group"`
	Limit   int           `json:"limit"`
	Members []GroupMember `json:"holders"`
	// Cancelling is the run that was asked to cancel, or "".
	Cancelling string `json:"cancelling,omitempty"`
}

// String describes the group and its members.
func (w *Waiting) String() string {
	holders := make([]string, len(w.Members))
	for i, m := range w.Members {
		holders[i] = fmt.Sprintf("%s (%s, since %s)", m.RunID, m.Graph, m.Since.Format(time.TimeOnly))
	}
	return fmt.Sprintf("group %q is busy: %d of at most %d inside: %s", w.Group, len(w.Members), w.Limit, strings.Join(holders, ", "))
}

// BusyError reports that a run's group has no free slot, and that the run does not wait.
type BusyError struct {
	RunID string
	Waiting
}

// Error describes the group and its members.
func (e *BusyError) Error() string {
	return fmt.Sprintf("run %q: %s, and concurrency.on_busy is fail", e.RunID, e.Waiting.String())
}

// ErrStopped reports that a run was cancelled or paused before it got a slot in its group.
var ErrStopped = errors.New("the run was stopped before there was a place in its group")

const groupKeys = "group/"

// enterGroup asks for a slot in a group for a run that has a driver. See Journal.EnterGroup.
func (s *KVStore) enterGroup(tx Tx, runID, group string, limit int) (out GroupState, err error) {
	var slots []GroupMember // in order of arrival; Since is zero for a run that waits
	if _, err := getJSON(tx, groupKeys+joinKey(group), &slots); err != nil {
		return out, err
	}
	before := len(slots)
	slots = slices.DeleteFunc(slots, func(m GroupMember) bool { return !s.storage().IsLocked(m.RunID) })
	changed := len(slots) < before
	at := slices.IndexFunc(slots, func(m GroupMember) bool { return m.RunID == runID })
	if at < 0 {
		run, err := getRun(tx, runID)
		if err := errors.Join(err, leaveGroup(tx, runID)); err != nil {
			return out, err
		}
		at, changed = len(slots), true
		slots = append(slots, GroupMember{RunID: runID, Graph: run.Graph, Owner: run.Owner})
	}
	ahead := 0 // runs that have a slot or queued earlier
	for i := range slots {
		if !slots[i].Since.IsZero() || i < at {
			ahead++
		}
	}
	if slots[at].Since.IsZero() && ahead < limit {
		slots[at].Since, changed = s.storage().Now(), true
	}
	if changed {
		err = putJSON(tx, groupKeys+joinKey(group), slots)
	}
	out.Inside = !slots[at].Since.IsZero()
	out.Members = slices.DeleteFunc(slots, func(m GroupMember) bool { return m.Since.IsZero() })
	slices.SortStableFunc(out.Members, func(a, b GroupMember) int { return a.Since.Compare(b.Since) })
	return out, err
}

// leaveGroup removes a run from its group.
func leaveGroup(tx Tx, runID string) error {
	groups, err := collectPairs(tx, groupKeys, "", -1)
	for _, p := range groups {
		var slots []GroupMember
		err = cmp.Or(err, decodeJSON(p, &slots))
		left := slices.DeleteFunc(slices.Clone(slots), func(m GroupMember) bool { return m.RunID == runID })
		switch {
		case err != nil || len(left) == len(slots):
		case len(left) == 0:
			err = tx.Delete(p.Key)
		default:
			err = putJSON(tx, p.Key, left)
		}
	}
	return err
}

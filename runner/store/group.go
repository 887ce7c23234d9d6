// Groups of runs: how many of them run at once (GraphSpec §2, concurrency).

package store

import (
	"errors"
	"fmt"
	"slices"
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

// TurnJournal is a Journal that can wait for a change of its group. With any other Journal,
// the driver polls Enter.
type TurnJournal interface {
	Journal
	// AwaitTurn waits until Enter may return another result, and returns "". It returns
	// earlier with a request that somebody sends to the waiting run.
	AwaitTurn() Request
}

// Waiting describes the busy group that a run waits for (runner.RunWaiting).
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

// groupSlot is a run that is in a group or waits for its turn.
type groupSlot struct {
	GroupMember
	// Number is the place in the queue. Since is zero while the run waits.
	Number int `json:"number"`
}

func (s *groupSlot) key(group string) string {
	return fmt.Sprintf("%s/%08x/%s", keyOf("group", group), s.Number, keyOf(s.RunID))
}

// enterGroup asks for a slot in a group for a run that is driven. See Journal.Enter.
func (s *KVStore) enterGroup(tx Tx, runID, group string, limit int) (out GroupState, err error) {
	slots, err := s.groupSlots(tx, group)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(slots, func(s groupSlot) bool { return s.RunID == runID })
	if at < 0 {
		at = len(slots)
		slot, err := joinGroup(tx, runID, group, slots)
		if err != nil {
			return out, err
		}
		slots = append(slots, slot)
	}
	ahead := 0 // runs that are inside or come first
	for i := range slots {
		if !slots[i].Since.IsZero() || i < at {
			ahead++
		}
	}
	own := &slots[at]
	if own.Since.IsZero() && ahead < limit {
		own.Since = s.kv().Now()
		if err := putJSON(tx, own.key(group), own); err != nil {
			return out, err
		}
	}
	out.Inside = !own.Since.IsZero()
	for i := range slots {
		if !slots[i].Since.IsZero() {
			out.Members = append(out.Members, slots[i].GroupMember)
		}
	}
	slices.SortStableFunc(out.Members, func(a, b GroupMember) int { return a.Since.Compare(b.Since) })
	return out, nil
}

// groupSlots returns the slots of a group in their order. It deletes those whose runs are
// not driven any more.
func (s *KVStore) groupSlots(tx Tx, group string) (slots []groupSlot, err error) {
	var gone []string
	err = visitJSON(tx, keyOf("group", group)+"/", func(slot *groupSlot) bool {
		if s.kv().IsLocked(slot.RunID) {
			slots = append(slots, *slot)
		} else {
			gone = append(gone, slot.RunID)
		}
		return true
	})
	for _, runID := range gone {
		err = errors.Join(err, leaveGroup(tx, runID))
	}
	return slots, err
}

// joinGroup appends a run to the queue of a group.
func joinGroup(tx Tx, runID, group string, queue []groupSlot) (slot groupSlot, err error) {
	if err := leaveGroup(tx, runID); err != nil {
		return slot, err
	}
	slot.RunID = runID
	if n := len(queue); n > 0 {
		slot.Number = queue[n-1].Number + 1
	}
	run, err := getRun(tx, runID)
	if err != nil {
		return slot, err
	}
	slot.Graph, slot.Owner = run.Graph, run.Owner
	return slot, putJSON(tx, slot.key(group), slot)
}

func leaveGroup(tx Tx, runID string) error {
	slots, err := collect(tx, "group/", "", -1)
	for _, p := range slots {
		if err == nil && strings.HasSuffix(p.Key, "/"+keyOf(runID)) {
			err = tx.Delete(p.Key)
		}
	}
	return err
}

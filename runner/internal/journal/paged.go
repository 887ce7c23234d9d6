// Reading a part of a journal: from the snapshot before a step, as far as needed, some
// events at a time.

package journal

import (
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Open begins at the latest snapshot with fewer than so many steps in its path. The
// events are read by Each.
func (r *Reading) Open(step int) error {
	retractions, err := r.Store.Retractions(r.RunID)
	if err != nil {
		return err
	}
	r.retract(retractions)
	return r.Seek(step)
}

// retract makes the reading a paged one, of which events that were taken back do not
// count.
func (r *Reading) retract(retractions []store.Retraction) {
	r.paged, r.retractions, r.undone = true, retractions, map[int]bool{}
	for _, one := range retractions {
		for _, place := range one.Places {
			r.undone[place] = true
		}
	}
}

// Seek lets a reading begin at the latest snapshot with fewer than so many steps.
func (r *Reading) Seek(step int) error {
	r.From, r.Total = Snapshot{}, 0
	most, err := r.placeBefore(step)
	for most > 0 && err == nil {
		var kept store.Snapshot
		if kept, err = r.snapshotAt(most); err != nil || kept.Events == 0 {
			break
		}
		if from, bad := readSnapshot(kept, r.Plan); bad == nil {
			r.From, r.Total = from, kept.Events
			break
		}
		most = kept.Events - 1 // of another version: the events are still there
	}
	return err
}

// placeBefore is how many events the latest snapshot with fewer than so many steps
// stands for; 0: there is none.
func (r *Reading) placeBefore(step int) (int, error) {
	if step <= 1 {
		return 0, nil
	}
	latest, err := r.snapshotAt(-1)
	if err != nil || latest.Events == 0 || stepsOf(&latest) < step {
		return latest.Events, err
	}
	// Of the snapshots of at most low events, found is the latest; those of more than
	// high have too many steps.
	found, low, high := 0, 0, latest.Events-1
	for low < high {
		middle := low + (high-low+1)/2
		kept, err := r.snapshotAt(middle)
		switch {
		case err != nil:
			return 0, err
		case kept.Events <= low:
			low = middle
		case stepsOf(&kept) < step:
			found, low = kept.Events, middle
		default:
			high = kept.Events - 1
		}
	}
	return found, nil
}

// snapshotAt is the latest snapshot of at most so many events, any number when
// negative, of which every event counts.
func (r *Reading) snapshotAt(most int) (store.Snapshot, error) {
	for {
		kept, err := r.Store.Snapshot(r.RunID, most)
		if err != nil {
			return kept, err
		}
		if first := r.firstUndoneBefore(kept.Events); first < kept.Events {
			most = first
			continue
		}
		return kept, nil
	}
}

// firstUndoneBefore is the first of the events that a snapshot of so many events
// stands for and that a later event takes back; else that number.
func (r *Reading) firstUndoneBefore(events int) int {
	first := events
	for _, one := range r.retractions {
		if one.By < events {
			continue // the snapshot knows
		}
		for _, place := range one.Places {
			first = min(first, place)
		}
	}
	return first
}

// Next reads the next events of the journal, those that count no more too; none: that
// was all. The caller counts in Total what it has seen.
func (r *Reading) Next() ([]machine.Event, error) {
	return r.Store.Stretch(r.RunID, r.Total, stretchSize)
}

// Each visits the events that count, in order, until it is told that there is no
// need for more.
func (r *Reading) Each(visit func(e *machine.Event) (more bool, err error)) error {
	if !r.paged {
		for i := range r.Events {
			if more, err := visit(&r.Events[i]); err != nil || !more {
				return err
			}
		}
		return nil
	}
	for {
		events, err := r.Next()
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			place := r.Total
			if len(events[i].Undo) > 0 && !r.knows(place) {
				return nil // the run was taken up meanwhile: it is told as it was before
			}
			r.Total++
			if r.undone[place] {
				continue
			}
			if more, err := visit(&events[i]); err != nil || !more {
				return err
			}
		}
	}
}

// knows reports whether what an event takes back was known when reading began.
func (r *Reading) knows(place int) bool {
	for _, one := range r.retractions {
		if one.By == place {
			return true
		}
	}
	return false
}

// Cut reads up to the event of which visit says that it is the one: the reading then
// holds the events before it, and ends there. nil: there is no such event.
func (r *Reading) Cut(visit func(e *machine.Event) (found bool, err error)) (last *machine.Event, err error) {
	err = r.Each(func(e *machine.Event) (bool, error) {
		kept := *e
		found, err := visit(e)
		switch {
		case err != nil:
			return false, err
		case !found:
			r.Events = append(r.Events, kept)
			return true, nil
		}
		last = &kept
		r.Total-- // it is not in what the reading ends with
		return false, nil
	})
	r.paged = false
	return last, err
}

// UndoneLater are the places of those events that count no more since an event
// after the end of the reading.
func (r *Reading) UndoneLater() []int {
	var out []int
	for _, one := range r.retractions {
		if one.By < r.Total {
			continue
		}
		for _, place := range one.Places {
			if place < r.Total {
				out = append(out, place)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Again is another reading of the same journal, from a snapshot of it on: it knows what
// was taken back before that.
func (r *Reading) Again(from Snapshot) (*Reading, error) {
	retractions, err := r.Store.Retractions(r.RunID)
	if err != nil {
		return nil, err
	}
	out := &Reading{RunID: r.RunID, Store: r.Store, Graph: r.Graph, Plan: r.Plan, From: from, Total: from.Events, paged: true}
	out.From.fresh = nil // the other reading's
	out.retractions = before(retractions, from.Events)
	return out, nil
}

// before are the retractions by events before a place.
func before(retractions []store.Retraction, place int) []store.Retraction {
	var out []store.Retraction
	for _, one := range retractions {
		if one.By < place {
			out = append(out, one)
		}
	}
	return out
}

// TakeBack says that the event at Total takes others back. It returns a reading of the
// events before it that are left, as far back as there is a snapshot of only such.
func (r *Reading) TakeBack(undo []int) (*Reading, error) {
	out := &Reading{RunID: r.RunID, Store: r.Store, Graph: r.Graph, Plan: r.Plan}
	out.retract(append(before(r.retractions, r.Total), store.Retraction{By: r.Total, Places: undo}))
	r.retractions = slices.Clone(out.retractions)
	kept, err := out.snapshotAt(r.Total)
	if err != nil {
		return nil, err
	}
	if from, bad := readSnapshot(kept, r.Plan); kept.Events > 0 && bad == nil {
		out.From, out.Total = from, kept.Events
	}
	return out, nil
}

// Package journal reads the journals of runs: from the beginning or from a snapshot, some
// events at a time.
package journal

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// stretchSize is how many bytes of events are in memory at once.
const stretchSize = 128 << 10

// Reading is a place in a journal. Not for concurrent use.
type Reading struct {
	RunID string
	Store store.Store
	Plan  *machine.Plan
	// From is the snapshot that the events go on from; the zero one is the beginning of
	// the run.
	From Snapshot
	// Stale says that there is a later snapshot, which this program can't read.
	Stale bool
	// Total is how many events have been read, those before the snapshot included.
	Total int
}

// Latest begins at the latest snapshot of at most so many events; any number when
// negative.
func (r *Reading) Latest(most int) error {
	for {
		kept, err := r.Store.Snapshot(r.RunID, most)
		if err != nil {
			return err
		}
		r.From, r.Total = Snapshot{}, 0
		if kept.Events == 0 {
			return nil
		}
		if from, err := readSnapshot(kept, r.Plan); err == nil {
			r.From, r.Total = from, kept.Events
			return nil
		}
		most, r.Stale = kept.Events-1, true // of another version: the events are still there
	}
}

// Before begins at the latest snapshot in which fewer than so many steps have ended.
func (r *Reading) Before(step int) error {
	most := -1
	for step > 1 {
		kept, err := r.Store.Snapshot(r.RunID, most)
		if err != nil {
			return err
		}
		if kept.Events == 0 || stepsOf(&kept) < step {
			return r.Latest(kept.Events)
		}
		most = kept.Events - 1
	}
	return r.Latest(0)
}

// Next reads the next events; none: that was all. The caller counts in Total what it has
// taken.
func (r *Reading) Next() ([]machine.Event, error) {
	return r.Store.Stretch(r.RunID, r.Total, stretchSize)
}

// Each visits the events in order, until it is told that there is no need for more.
func (r *Reading) Each(visit func(e *machine.Event) (more bool, err error)) error {
	for {
		events, err := r.Next()
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			r.Total++
			if more, err := visit(&events[i]); err != nil || !more {
				return err
			}
		}
	}
}

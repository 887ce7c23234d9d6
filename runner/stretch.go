// Reading a part of a run: from the snapshot before a step, as far as needed, some
// events at a time.

package runner

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// stretchSize is how many bytes of events are in memory at once.
const stretchSize = 128 << 10

// recentSteps is how many steps before a step ShowAt tells at least, if there are
// as many.
const recentSteps = 100

// ErrEnough is what the sink of ReplayFrom returns when it needs to see no more.
var ErrEnough = errors.New("enough has been seen")

// loadAt reads a run from its latest snapshot with fewer than so many steps in its
// path. Its events are read by each.
func (r *Runner) loadAt(runID string, step int) (*record, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	if rec.retractions, err = r.cfg.Store.Retractions(runID); err != nil {
		return nil, err
	}
	rec.paged, rec.undone = true, map[int]bool{}
	for _, one := range rec.retractions {
		for _, place := range one.Places {
			rec.undone[place] = true
		}
	}
	return rec, rec.seek(step)
}

// seek lets a record begin at the latest snapshot with fewer than so many steps.
func (rec *record) seek(step int) error {
	rec.from, rec.total = snapshot{}, 0
	most, err := rec.placeBefore(step)
	for most > 0 && err == nil {
		var kept store.Snapshot
		if kept, err = rec.snapshotAt(most); err != nil || kept.Events == 0 {
			break
		}
		if from, bad := readSnapshot(kept, rec.flow.plan); bad == nil {
			rec.from, rec.total = from, kept.Events
			break
		}
		most = kept.Events - 1 // of another version: the events are still there
	}
	return err
}

// placeBefore is how many events the latest snapshot with fewer than so many steps
// stands for; 0: there is none.
func (rec *record) placeBefore(step int) (int, error) {
	if step <= 1 {
		return 0, nil
	}
	latest, err := rec.snapshotAt(-1)
	if err != nil || latest.Events == 0 || stepsOf(&latest) < step {
		return latest.Events, err
	}
	// Of the snapshots of at most low events, found is the latest; those of more than
	// high have too many steps.
	found, low, high := 0, 0, latest.Events-1
	for low < high {
		middle := low + (high-low+1)/2
		kept, err := rec.snapshotAt(middle)
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
func (rec *record) snapshotAt(most int) (store.Snapshot, error) {
	for {
		kept, err := rec.flow.runner.cfg.Store.Snapshot(rec.run.ID, most)
		if err != nil {
			return kept, err
		}
		if first := rec.firstUndoneBefore(kept.Events); first < kept.Events {
			most = first
			continue
		}
		return kept, nil
	}
}

// firstUndoneBefore is the first of the events that a snapshot of so many events
// stands for and that a later event takes back; else that number.
func (rec *record) firstUndoneBefore(events int) int {
	first := events
	for _, one := range rec.retractions {
		if one.By < events {
			continue // the snapshot knows
		}
		for _, place := range one.Places {
			first = min(first, place)
		}
	}
	return first
}

// stepsOf is how many steps a snapshot's path has; what can't be read has none.
func stepsOf(s *store.Snapshot) int {
	var head snapshotHead
	line, _, _ := bytes.Cut(s.State, []byte("\n"))
	if json.Unmarshal(line, &head) != nil {
		return 0
	}
	return head.Steps
}

// each visits the events that count, in order, until it is told that there is no
// need for more.
func (rec *record) each(visit func(e *machine.Event) (more bool, err error)) error {
	if !rec.paged {
		for i := range rec.events {
			if more, err := visit(&rec.events[i]); err != nil || !more {
				return err
			}
		}
		return nil
	}
	for {
		events, err := rec.flow.runner.cfg.Store.Stretch(rec.run.ID, rec.total, stretchSize)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			place := rec.total
			if len(events[i].Undo) > 0 && !rec.knows(place) {
				return nil // the run was taken up meanwhile: it is told as it was before
			}
			rec.total++
			if rec.undone[place] {
				continue
			}
			if more, err := visit(&events[i]); err != nil || !more {
				return err
			}
		}
	}
}

// knows reports whether what an event takes back was known when reading began.
func (rec *record) knows(place int) bool {
	for _, one := range rec.retractions {
		if one.By == place {
			return true
		}
	}
	return false
}

// ShowAt returns a run as it was after a step; 0: before the first. It begins to
// read a little before the step, and the sink of opts is told of that part only.
// With History it reads all that comes before.
func (r *Runner) ShowAt(runID string, step int, opts Options) (*Result, error) {
	from := step - recentSteps
	if opts.History {
		from = 0
	}
	rec, err := r.loadAt(runID, from)
	if err != nil {
		return nil, err
	}
	return rec.walk(step, opts)
}

// ReplayFrom walks a recorded run as Replay does, but begins at the latest snapshot
// before the superstep of a step: what came before is not told. When the sink of
// opts returns ErrEnough, the walk ends there, with that error.
func (r *Runner) ReplayFrom(runID string, step int, opts Options) (*Result, error) {
	rec, err := r.loadAt(runID, step)
	if err == nil && rec.from.head.Steps > 0 { // it may be of the step's own superstep
		err = rec.seek(rec.from.head.Steps)
	}
	if err != nil {
		return nil, err
	}
	return rec.walk(-1, opts)
}

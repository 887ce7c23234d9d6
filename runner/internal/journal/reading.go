// Package journal reads the journals of runs and their subgraphs: from the beginning or
// from a snapshot, the events that count, as a whole or some at a time; and how the end
// of a run is taken back.
package journal

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// stretchSize is how many bytes of events are in memory at once.
const stretchSize = 128 << 10

// Reading is a journal as it is read. Not for concurrent use.
type Reading struct {
	// RunID and Store say where the journal is; a subgraph's is in the notes of its task.
	RunID string
	Store store.Store
	Graph *spec.Graph
	Plan  *machine.Plan
	// From is the snapshot that the events go on from; the zero one is the beginning of
	// the run.
	From Snapshot
	// Stale says that there is a later snapshot, of events that count no more.
	Stale bool
	// Events are those that count, at their places in the journal.
	Events []machine.Event
	places []int
	Total  int // events in the journal
	// paged says that the events are read when they are needed: Total is then how many
	// have been. retractions are those of the whole journal, undone what they take back.
	paged       bool
	retractions []store.Retraction
	undone      map[int]bool
	// nested says that the journal is a subgraph's.
	nested bool
}

// ReadAll reads the whole journal.
func (r *Reading) ReadAll() error {
	events, err := r.Store.Events(r.RunID)
	if err == nil {
		r.Take(events)
	}
	return err
}

// ReadFrom reads the journal from its latest snapshot of at most so many events (any
// number when negative) that can be used.
func (r *Reading) ReadFrom(most int) error {
	for {
		kept, err := r.Store.Snapshot(r.RunID, most)
		if err != nil {
			return err
		}
		r.From = Snapshot{}
		if kept.Events > 0 {
			if r.From, err = readSnapshot(kept, r.Plan); err != nil {
				most, r.Stale = kept.Events-1, true
				continue
			}
		}
		events, err := r.Store.EventsAfter(r.RunID, r.From.Events)
		if err != nil {
			return err
		}
		if first, ok := firstUndone(events); ok && first < r.From.Events {
			most, r.Stale = first, true
			continue
		}
		r.Take(events)
		return nil
	}
}

// Take keeps the events after From that count.
func (r *Reading) Take(events []machine.Event) {
	first := r.From.Events
	r.Events, r.places, r.Total = nil, nil, first+len(events)
	undone := map[int]bool{}
	for i := range events {
		for _, place := range events[i].Undo {
			undone[place] = true
		}
	}
	for i := range events {
		if !undone[first+i] {
			r.Events, r.places = append(r.Events, events[i]), append(r.places, first+i)
		}
	}
}

// firstUndone is the first place in the journal that counts no more.
func firstUndone(events []machine.Event) (first int, ok bool) {
	for i := range events {
		for _, place := range events[i].Undo {
			if !ok || place < first {
				first, ok = place, true
			}
		}
	}
	return first, ok
}

// Begin is the state that the reading begins with.
func (r *Reading) Begin() (*machine.State, error) { return r.From.Restore(r.Plan) }

// ComesBackTo is the state in which a subgraph is taken up.
func (r *Reading) ComesBackTo() (*machine.State, error) {
	state, err := r.State()
	if err != nil || !state.Ending() || state.Status == machine.Completed {
		return state, err
	}
	if _, err := r.Rewind(state); err != nil {
		return nil, err
	}
	return r.State()
}

// State is the state after all events that count.
func (r *Reading) State() (*machine.State, error) {
	state, err := r.Begin()
	for i := 0; i < len(r.Events) && err == nil; i++ {
		_, err = r.Plan.Apply(state, r.Events[i])
	}
	return state, err
}

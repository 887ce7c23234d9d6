// The journal of a subgraph: notes of the task that runs it.

package journal

import (
	"errors"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Child notes a subgraph's events in the run around it, as lists of events. Those that
// only close supersteps wait for the next event with an effect, or until there is
// nothing to do: without them a subgraph takes the same steps again. It is a
// store.Journal.
type Child struct {
	to      Notes
	pending []any
	total   int // events, those pending too
	bytes   int // of events since the last snapshot
}

// Notes keep what a Child notes, durably when they return.
type Notes struct {
	// Keep adds events, as plain data.
	Keep func(events []any) error
	// Replace puts a snapshot in the place of all notes before.
	Replace func(snapshot map[string]any) error
	// Shared says that there are other notes, too, of which no snapshot may take the
	// place.
	Shared bool
}

// maxPending is how many events wait at most.
const maxPending = 64

// NewChild goes on after so many events, of which those since the last snapshot have so
// many bytes.
func NewChild(to Notes, events, bytes int) *Child { return &Child{to: to, total: events, bytes: bytes} }

// PassedOn is the journal for the driver that goes on with the subgraph.
func (j *Child) PassedOn(to Notes) *Child {
	own := *j
	own.to = to
	return &own
}

// Enter lets the subgraph in: it is inside with the run around it.
func (j *Child) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Inside: true}, nil
}

// Append notes an event.
func (j *Child) Append(e machine.Event) error { return j.AppendAll([]machine.Event{e}) }

// AppendAll notes events.
func (j *Child) AppendAll(events []machine.Event) error {
	urgent := false
	for i := range events {
		plain, size, err := plainEvent(&events[i])
		if err != nil {
			return err
		}
		j.pending = append(j.pending, plain)
		j.bytes += size
		urgent = urgent || events[i].Kind != machine.Advanced
	}
	j.total += len(events)
	if urgent || len(j.pending) >= maxPending {
		return j.Flush()
	}
	return nil
}

// Flush notes what is pending.
func (j *Child) Flush() error {
	if len(j.pending) == 0 {
		return nil
	}
	err := j.to.Keep(j.pending)
	j.pending = nil
	return err
}

// Snapshot notes a state in the place of the events before it.
func (j *Child) Snapshot(s store.Snapshot) error {
	j.pending, j.bytes = nil, 0
	return j.to.Replace(map[string]any{snapshotState: string(s.State), snapshotEvents: j.total})
}

// Journaled is the size of the events since the last snapshot.
func (j *Child) Journaled() int {
	if j.to.Shared {
		return 0
	}
	return j.bytes
}

// Note does nothing: a subgraph is in no list.
func (j *Child) Note(store.RunSummary) error { return nil }

// Asked is nil: requests go to the run around.
func (j *Child) Asked() <-chan store.Request { return nil }

// Offers is nil: offers go to the run around.
func (j *Child) Offers() <-chan store.Offer { return nil }

// Settle is not for subgraphs.
func (j *Child) Settle(string, []machine.Event, string) (bool, error) {
	return false, errors.ErrUnsupported
}

// Adopt is not for subgraphs: the run around them has their texts.
func (j *Child) Adopt(store.RunRecord) error { return errors.ErrUnsupported }

// Close notes what is pending.
func (j *Child) Close() error { return j.Flush() }

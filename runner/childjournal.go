// The journal of a subgraph: notes of the task that runs it.

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// childJournal notes a subgraph's events in the run around it, as lists of
// events. Those that only close supersteps wait for the next event with an
// effect, or until there is nothing to do: without them a subgraph takes the same
// steps again.
type childJournal struct {
	nested  *nesting
	pending []any
	total   int // events, those pending too
	bytes   int // of events since the last snapshot
}

// maxPending is how many events wait at most.
const maxPending = 64

// snapshotNote is the note that takes the place of those before it.
const (
	snapshotState  = "snapshot"
	snapshotEvents = "events"
)

func newChildJournal(nested *nesting) *childJournal { return &childJournal{nested: nested} }

// journal is the journal of a subgraph; nil when the run around it has none.
func (n *nesting) journal() store.Journal {
	if n.parent.journal == nil {
		return nil
	}
	return newChildJournal(n)
}

// passedOn is the journal for the driver that goes on with the subgraph.
func (j *childJournal) passedOn(nested *nesting) *childJournal {
	own := *j
	own.nested = nested
	return &own
}

// Enter lets the subgraph in: it is inside with the run around it.
func (j *childJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Inside: true}, nil
}

// Append notes an event.
func (j *childJournal) Append(e machine.Event) error { return j.AppendAll([]machine.Event{e}) }

// AppendAll notes events.
func (j *childJournal) AppendAll(events []machine.Event) error {
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
		return j.flush()
	}
	return nil
}

// flush notes what is pending.
func (j *childJournal) flush() error {
	if len(j.pending) == 0 {
		return nil
	}
	err := j.nested.parent.sendNote(j.nested.task, j.nested.wrapped(j.pending), nil)
	j.pending = nil
	return err
}

// flush makes durable what a subgraph's journal holds back. It reports whether
// that went well.
func (d *driver) flush() bool {
	if journal, ok := d.journal.(*childJournal); ok {
		d.journalErr = errors.Join(d.journalErr, journal.flush())
	}
	return d.journalErr == nil
}

// Snapshot notes a state in the place of the events before it.
func (j *childJournal) Snapshot(s store.Snapshot) error {
	j.pending, j.bytes = nil, 0
	return j.nested.parent.sendNoted(machine.Event{
		Task: j.nested.task, Anew: true, Output: map[string]any{snapshotState: string(s.State), snapshotEvents: j.total},
	})
}

// Journaled is the size of the events since the last snapshot. Of a graph that a
// task calls as a tool it is none: a snapshot would take the place of what else
// the task has noted.
func (j *childJournal) Journaled() int {
	if j.nested.call > 0 {
		return 0
	}
	return j.bytes
}

// Note does nothing: a subgraph is in no list.
func (j *childJournal) Note(store.RunSummary) error { return nil }

// Asked is nil: requests go to the run around.
func (j *childJournal) Asked() <-chan store.Request { return nil }

// Offers is nil: offers go to the run around.
func (j *childJournal) Offers() <-chan store.Offer { return nil }

// Settle is not for subgraphs.
func (j *childJournal) Settle(string, []machine.Event, string) (bool, error) {
	return false, errors.ErrUnsupported
}

// Adopt is not for subgraphs: the run around them has their texts.
func (j *childJournal) Adopt(store.RunRecord) error { return errors.ErrUnsupported }

// Close notes what is pending.
func (j *childJournal) Close() error { return j.flush() }

// closingSize is about the size of an event that only closes a superstep.
const closingSize = 60

// plainEvent is an event as plain data, and about its size in a journal.
func plainEvent(e *machine.Event) (plain any, size int, err error) {
	if e.Kind == machine.Advanced && e.Edit == nil { // most of a subgraph's events
		return map[string]any{"kind": string(e.Kind), "at": int(e.At), "superstep": e.Superstep}, closingSize, nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, 0, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&plain)
	return plain, len(text), err
}

// readLog reads what a childJournal has noted. bytes are those of the events.
func readLog(flow *Flow, log []any) (rec *record, size int, err error) {
	rec = &record{flow: flow, nested: true}
	var events []machine.Event
	for _, note := range log {
		switch note := note.(type) {
		case map[string]any:
			state, _ := note[snapshotState].(string)
			before, _ := note[snapshotEvents].(int)
			if rec.from, err = readSnapshot(store.Snapshot{Events: before, State: []byte(state)}, flow.plan); err != nil {
				return nil, 0, err
			}
			rec.from.head.Steps = 0 // of no interest: the run around has no path of it
			events, size = nil, 0
		case []any:
			for _, item := range note {
				event, n, err := readNoted(item)
				if err != nil {
					return nil, 0, err
				}
				events, size = append(events, event), size+n
			}
		}
	}
	rec.take(events)
	return rec, size, nil
}

// readNoted reads an event; n is its size in the journal.
func readNoted(item any) (event machine.Event, n int, err error) {
	text, err := json.Marshal(item)
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		return event, 0, fmt.Errorf("a noted event of a subgraph can't be read: %w", err)
	}
	return event, len(text), nil
}

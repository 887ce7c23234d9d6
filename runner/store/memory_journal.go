// The journal of a run in memory.

package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// memoryJournal drives a run for as long as the run points to it.
type memoryJournal struct {
	store *Memory
	run   *memoryRun
	// asked has room for each request once.
	asked chan Request
	last  Request // that was left
	// offers delivers what is open, wakened by a change of it.
	offers chan Offer
	change chan struct{}
	gone   chan struct{}
	// failed and closed belong to the goroutine that writes.
	failed error
	closed bool
}

// Append adds an event.
func (j *memoryJournal) Append(e machine.Event) error { return j.AppendAll([]machine.Event{e}) }

// AppendAll adds events, all or none.
func (j *memoryJournal) AppendAll(events []machine.Event) error {
	if j.failed == nil {
		j.failed = j.append(events)
	}
	return j.failed
}

func (j *memoryJournal) append(events []machine.Event) error {
	texts, size, err := encodeAll(events)
	if err != nil {
		return err
	}
	return j.write(func() {
		j.run.events = append(j.run.events, texts...)
		j.run.journaled += size
	})
}

// encodeAll is the text of each event, and how many bytes that is.
func encodeAll(events []machine.Event) (texts [][]byte, size int, err error) {
	texts = make([][]byte, len(events))
	for i := range events {
		if texts[i], err = EncodeEvent(&events[i]); err != nil {
			return nil, 0, err
		}
		size += len(texts[i])
	}
	return texts, size, nil
}

// Snapshot keeps a state.
func (j *memoryJournal) Snapshot(s Snapshot) error {
	return j.write(func() {
		s.Events, s.State = len(j.run.events), slices.Clone(s.State)
		if n := len(j.run.snapshots); n > 0 && j.run.snapshots[n-1].Events == s.Events {
			j.run.snapshots = j.run.snapshots[:n-1]
		}
		j.run.snapshots = append(j.run.snapshots, s)
		j.run.journaled = 0
	})
}

// Adopt replaces the graph of the run.
func (j *memoryJournal) Adopt(r RunRecord) error {
	return j.write(func() {
		to := &j.run.summary
		to.Graph, to.File, to.Source, to.Files = r.Graph, r.File, slices.Clone(r.Source), maps.Clone(r.Files)
		j.run.snapshots, j.run.journaled = nil, 0
		for _, event := range j.run.events {
			j.run.journaled += len(event)
		}
	})
}

// Journaled is the size of the events since the last snapshot.
func (j *memoryJournal) Journaled() int {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	return j.run.journaled
}

// Note tells what List shows.
func (j *memoryJournal) Note(s RunSummary) error {
	return j.write(func() {
		to := &j.run.summary
		to.Status, to.Reason, to.Quality, to.Steps, to.Due, to.Updated = s.Status, s.Reason, s.Quality, s.Steps, s.Due, s.Updated
	})
}

// ask leaves a request; the store is locked. One that changes nothing is dropped.
func (j *memoryJournal) ask(request Request) {
	if _, cancels := j.last.Cancels(); request != j.last && !cancels {
		j.last = request
		j.asked <- request
	}
}

// Asked delivers requests.
func (j *memoryJournal) Asked() <-chan Request { return j.asked }

// Close releases the run.
func (j *memoryJournal) Close() error {
	if !j.closed {
		close(j.gone)
	}
	j.closed = true
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if j.run.journal == j {
		j.run.journal, j.run.summary.Owner = nil, ""
		j.store.leaveGroup(j.run)
	}
	return nil
}

// write changes the run if the journal still drives it.
func (j *memoryJournal) write(change func()) error {
	if j.closed {
		return fmt.Errorf("run %q: %w", j.run.summary.ID, ErrJournalClosed)
	}
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if j.run.journal != j {
		return j.run.driven()
	}
	change()
	return nil
}

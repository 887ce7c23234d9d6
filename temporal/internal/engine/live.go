// Live events, which are not in the journal: a workflow keeps them for clients that follow.

package engine

import "github.com/graphrun/graphrun/runner"

// maxLive is how many live events a workflow keeps: clients ask several times a second.
const maxLive = 500

// liveSink adds live events to the journal.
type liveSink struct{ *journal }

// Event keeps a live event.
func (l liveSink) Event(e *runner.Event) error {
	if !e.Live() {
		return nil
	}
	j := l.journal
	one := runner.LiveEvent{After: j.base + len(j.texts), Event: *e}
	j.live = append(j.live, one)
	if len(j.live) > maxLive {
		j.live, j.liveFrom = j.live[1:], j.liveFrom+1
	}
	return nil
}

// liveAfter returns the live events from a number on, and the number of the first.
func (j *journal) liveAfter(n int) (out []runner.LiveEvent, from int) {
	if n < 0 {
		return nil, 0
	}
	n = max(n, j.liveFrom)
	return append(out, j.live[min(n-j.liveFrom, len(j.live)):]...), n
}

// liveTail holds the live events that a store has read of a run.
type liveTail struct {
	runID string
	run   string // the workflow run
	next  int    // of its events
	heard []runner.LiveEvent
}

// listen makes the store read the live events of a run.
func (s *Store) listen(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil || s.tail.runID != runID {
		s.tail = &liveTail{runID: runID}
	}
}

// tailOf calls do with the live events of a run, if the store reads them.
func (s *Store) tailOf(runID string, do func(*liveTail)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail != nil && s.tail.runID == runID {
		do(s.tail)
	}
}

// wanted returns the number of the next live event to read; negative for none.
func (s *Store) wanted(runID, run string) int {
	next := -1
	s.tailOf(runID, func(t *liveTail) {
		if t.run != run {
			t.run, t.next = run, 0
		}
		next = t.next
	})
	return next
}

// heardLive keeps the live events that came before an event of the journal. Later ones come
// again, with the events before them.
func (s *Store) heardLive(runID string, part *journalPart, events int) {
	s.tailOf(runID, func(t *liveTail) {
		for i, one := range part.Live {
			if number := part.LiveFrom + i; one.After <= events && number >= t.next {
				t.heard, t.next = append(t.heard, one), number+1
			}
		}
	})
}

// Live returns the live events of a run since the last call.
func (s *Store) Live(runID string) (out []runner.LiveEvent) {
	s.tailOf(runID, func(t *liveTail) { out, t.heard = t.heard, nil })
	return out
}

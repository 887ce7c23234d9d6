// What a run tells live: kept in its workflow for those who attend it.

package engine

import "github.com/graphrun/graphrun/runner"

// maxLive and maxLiveBytes bound what a workflow keeps of what was told live: who
// attends a run asks several times a second.
const (
	maxLive      = 1000
	maxLiveBytes = 1 << 20
)

// sizeOf is about how many bytes an event takes.
func sizeOf(e *runner.Event) int {
	if e.Said == nil {
		return 1000
	}
	return 1000 + len(e.Said.Text) + len(e.Said.Message)
}

// liveSink is the journal as a sink.
type liveSink struct{ *journal }

// Event keeps what no journal tells.
func (l liveSink) Event(e *runner.Event) error {
	if !e.Live() {
		return nil
	}
	j := l.journal
	one := runner.LiveEvent{After: j.base + len(j.texts), Event: *e}
	j.live, j.liveSize = append(j.live, one), j.liveSize+sizeOf(e)
	for len(j.live) > maxLive || j.liveSize > maxLiveBytes {
		j.liveSize -= sizeOf(&j.live[0].Event)
		j.live, j.liveFrom = j.live[1:], j.liveFrom+1
	}
	return nil
}

// liveAfter is what was told live from a number on, and its number.
func (j *journal) liveAfter(n int) (out []runner.LiveEvent, from int) {
	if n < 0 {
		return nil, 0
	}
	n = max(n, j.liveFrom)
	return append(out, j.live[min(n-j.liveFrom, len(j.live)):]...), n
}

// liveTail is what a store has heard of what a run tells live.
type liveTail struct {
	runID string
	run   string // the workflow run
	next  int    // of its events
	heard []runner.LiveEvent
}

// listen makes the store hear what a run tells live.
func (s *Store) listen(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil || s.tail.runID != runID {
		s.tail = &liveTail{runID: runID}
	}
}

// wanted is from where on what a workflow run tells live is wanted; negative: nowhere.
func (s *Store) wanted(runID, run string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tail == nil || s.tail.runID != runID:
		return -1
	case s.tail.run != run:
		s.tail.run, s.tail.next = run, 0
	}
	return s.tail.next
}

// heardLive keeps what a workflow run told live when its journal had so many events.
func (s *Store) heardLive(runID string, part *journalPart, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil || s.tail.runID != runID {
		return
	}
	for i, one := range part.Live {
		if one.After > events {
			return // it comes again, with the events before it
		}
		if number := part.LiveFrom + i; number >= s.tail.next {
			s.tail.heard, s.tail.next = append(s.tail.heard, one), number+1
		}
	}
}

// Live returns what a run told live since the last call.
func (s *Store) Live(runID string) (out []runner.LiveEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil || s.tail.runID != runID {
		return nil
	}
	out, s.tail.heard = s.tail.heard, nil
	return out
}

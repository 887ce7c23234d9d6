// What a run tells live: kept in its workflow for those who attend it.

package engine

import (
	"time"

	"github.com/graphrun/graphrun/runner/store"

	"github.com/graphrun/graphrun/runner"
)

// mostLive and mostLiveBytes bound what a workflow keeps of what was told live: who
// attends a run asks several times a second.
const (
	mostLive      = 1000
	mostLiveBytes = 1 << 20
)

// liveEvent is a runner.LiveEvent on the wire.
type liveEvent struct {
	After       int              `json:"after"`
	Seq         int64            `json:"seq"`
	Type        runner.EventType `json:"type"`
	Time        time.Time        `json:"time"`
	Step        int              `json:"step,omitempty"`
	Node        string           `json:"node,omitempty"`
	Place       string           `json:"place,omitempty"`
	Visit       int              `json:"visit,omitempty"`
	Attempt     int              `json:"attempt,omitempty"`
	Branch      string           `json:"branch,omitempty"`
	Finally     bool             `json:"finally,omitempty"`
	Error       *runner.Failure  `json:"error,omitempty"`
	MaxAttempts int              `json:"max_attempts,omitempty"`
	NextDelay   time.Duration    `json:"next_delay,omitempty"`
	Waiting     *store.Waiting   `json:"waiting,omitempty"`
	Said        *runner.Said     `json:"said,omitempty"`
}

func (e *liveEvent) size() int {
	n := 200
	if e.Said != nil {
		n += len(e.Said.Text) + len(e.Said.Message)
	}
	return n
}

func (e *liveEvent) event(runID string) runner.LiveEvent {
	return runner.LiveEvent{After: e.After, Event: runner.Event{
		Type: e.Type, Seq: e.Seq, Time: e.Time, RunID: runID, Step: e.Step, Node: e.Node, Place: e.Place,
		Visit: e.Visit, Attempt: e.Attempt, Branch: e.Branch, Finally: e.Finally, Error: e.Error, MaxAttempts: e.MaxAttempts,
		NextDelay: e.NextDelay, Waiting: e.Waiting, Said: e.Said,
	}}
}

// lively is the journal as a sink.
type lively struct{ *journal }

// Event keeps what no journal tells.
func (l lively) Event(e *runner.Event) error {
	if !e.Live() {
		return nil
	}
	j := l.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	one := liveEvent{
		After: j.base + len(j.texts), Seq: e.Seq, Type: e.Type, Time: e.Time, Step: e.Step, Node: e.Node,
		Place: e.Place, Visit: e.Visit, Attempt: e.Attempt, Branch: e.Branch, Finally: e.Finally, Error: e.Error,
		MaxAttempts: e.MaxAttempts, NextDelay: e.NextDelay, Waiting: e.Waiting, Said: e.Said,
	}
	j.live, j.liveSize = append(j.live, one), j.liveSize+one.size()
	for len(j.live) > mostLive || j.liveSize > mostLiveBytes {
		j.liveSize -= j.live[0].size()
		j.live, j.liveFrom = j.live[1:], j.liveFrom+1
	}
	return nil
}

// liveAfter is what was told live from a number on, and its number.
func (j *journal) liveAfter(n int) (out []liveEvent, from int) {
	if n < 0 {
		return nil, 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	n = max(n, j.liveFrom)
	return append(out, j.live[min(n-j.liveFrom, len(j.live)):]...), n
}

// liveTail is what a store has heard of what a run tells live.
type liveTail struct {
	runID string
	run   string // the workflow run
	next  int    // of its events
	heard []liveEvent
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
	for i := range s.tail.heard {
		out = append(out, s.tail.heard[i].event(runID))
	}
	s.tail.heard = nil
	return out
}

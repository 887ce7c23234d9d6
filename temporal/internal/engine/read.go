// Reading journals from the workflows of runs.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// link is a workflow run that has the events from base on.
type link struct {
	run  string
	base int
}

// linksOf returns the workflow runs of a run in order, and whether the last one is open.
func (s *Store) linksOf(runID string) (out []link, open bool, err error) {
	info, err := s.latest(runID)
	if err != nil {
		return nil, false, err
	}
	for run := info.GetExecution().GetRunId(); run != ""; {
		start, err := s.start(runID, run)
		if errors.Is(err, store.ErrNoRun) && len(out) > 0 { // the cluster has deleted earlier workflows
			break
		}
		if err != nil {
			return nil, false, err
		}
		at := link{run: run}
		run = ""
		if seed := start.Seed; seed != nil && seed.Base > 0 {
			at.base, run = seed.Base, seed.Previous
		}
		out = append(out, at)
	}
	slices.Reverse(out)
	return out, info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// part is how many bytes of events a query asks for.
const part = 1 << 20

// after returns the texts of events after the first n, of about size bytes.
func (s *Store) after(runID string, n, size int) ([]json.RawMessage, error) {
	links, open, err := s.linksOf(runID)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for i, at := range links {
		end := allBytes
		if i+1 < len(links) {
			end = links[i+1].base
		}
		if i == 0 && n < at.base {
			return nil, fmt.Errorf("run %q: the events before %d are not kept on the cluster any more", runID, at.base)
		}
		for n < end && size > 0 {
			var reply journalPart
			q := journalQuery{From: n, Size: min(size, part), Live: -1}
			if i+1 == len(links) {
				q.Live = s.tail.from(runID, at.run)
			}
			if err := s.query(runID, at.run, queryJournal, &reply, q); err != nil {
				return nil, err
			}
			hasMore := sizeOf(reply.Events) >= q.Size
			if open && i+1 == len(links) && reply.Task != 0 && n+len(reply.Events) > reply.Sure {
				if done, err := s.completed(runID, at.run, int64(reply.Task)); err != nil {
					return nil, err
				} else if !done {
					reply.Events, hasMore = reply.Events[:max(0, reply.Sure-n)], true
				}
			}
			events := reply.Events[:min(len(reply.Events), end-n)]
			s.tail.add(runID, &reply, n+len(events))
			out, n, size = append(out, events...), n+len(events), size-sizeOf(events)
			if !hasMore || len(events) == 0 {
				break
			}
		}
	}
	return out, nil
}

func sizeOf(texts []json.RawMessage) (bytes int) {
	for _, text := range texts {
		bytes += len(text)
	}
	return bytes
}

// completed reports whether the workflow task that began with an event of a history is
// completed. A worker that is queried reads the history to its end, even if it ends with a
// workflow task of a lost worker, which another worker does again with later events.
func (s *Store) completed(runID, run string, task int64) (done bool, err error) {
	if task < 0 {
		return false, nil
	}
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: s.cluster.settings.Namespace, Execution: &common.WorkflowExecution{WorkflowId: runID, RunId: run}, MaximumPageSize: 20,
	}
	for {
		var reply *workflowservice.GetWorkflowExecutionHistoryReverseResponse
		if err := s.reach(func() (err error) {
			ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
			defer cancel()
			reply, err = s.cluster.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
			return err
		}); err != nil {
			return false, asNoRun(runID, err)
		}
		for _, event := range reply.GetHistory().GetEvents() {
			switch {
			case event.GetEventId() == task+1:
				return event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, nil
			case event.GetEventId() <= task:
				return false, nil
			}
		}
		if request.NextPageToken = reply.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return false, nil
		}
	}
}

// Events returns events after the first n, of about size bytes. After a read that found the
// end of a run, further reads there wait their turn: following a run must not slow it down.
func (s *Store) Events(runID string, n, size int) ([]machine.Event, error) {
	from := time.Now()
	if s.tail.isFresh(runID, n, from) {
		return nil, nil
	}
	texts, err := s.after(runID, n, size)
	if err != nil {
		return nil, err
	}
	if sizeOf(texts) < size {
		s.tail.setFresh(runID, n+len(texts), time.Since(from))
	}
	return decodeEvents(texts)
}

// Snapshot returns the latest snapshot of at most so many events.
func (s *Store) Snapshot(runID string, most int) (out store.Snapshot, err error) {
	links, _, err := s.linksOf(runID)
	if err != nil {
		return out, err
	}
	for _, at := range slices.Backward(links) {
		if most >= 0 && at.base > most {
			continue
		}
		if err := s.query(runID, at.run, queryState, &out, most); err != nil || out.Events > 0 {
			return out, err
		}
	}
	return out, nil
}

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
	j.live = append(j.live, runner.LiveEvent{After: j.length(), Event: *e})
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

// liveTail has the live events that a store has read of the run that it follows.
type liveTail struct {
	mu    sync.Mutex
	runID string
	run   string    // the workflow
	next  int       // number of its next event
	end   int       // events of the journal at the latest read
	until time.Time // when the journal is read again from there
	read  []runner.LiveEvent
}

// listen makes the store read the live events of a run.
func (s *Store) listen(runID string) {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	if t := &s.tail; t.runID != runID {
		t.runID, t.run, t.read = runID, "", nil
	}
}

// from returns the number of the next live event to read; negative: none is wanted.
func (t *liveTail) from(runID, run string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runID != runID {
		return -1
	}
	if t.run != run {
		t.run, t.next = run, 0
	}
	return t.next
}

// add keeps the live events before an event of the journal. Later ones are read again, with
// the events before them.
func (t *liveTail) add(runID string, part *journalPart, events int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, one := range part.Live {
		if number := part.LiveFrom + i; t.runID == runID && one.After <= events && number >= t.next {
			t.read, t.next = append(t.read, one), number+1
		}
	}
}

// hasUnread reports whether a run that is followed has more events than were read. They are
// then read at once.
func (s *Store) hasUnread(runID string) (bool, error) {
	t := &s.tail
	t.mu.Lock()
	n := t.end
	t.until = time.Time{}
	t.mu.Unlock()
	texts, err := s.after(runID, n, 1)
	return len(texts) > 0, err
}

// isFresh reports whether a read found the journal to end with event n a moment ago.
func (t *liveTail) isFresh(runID string, n int, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runID == runID && t.end == n && now.Before(t.until)
}

// setFresh keeps where a read ended. The next one begins after four times its duration.
func (t *liveTail) setFresh(runID string, n int, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runID == runID {
		t.end, t.until = n, time.Now().Add(min(4*took, 2*time.Second))
	}
}

// Live returns the live events of a run since the last call.
func (s *Store) Live(runID string) (out []runner.LiveEvent) {
	t := &s.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runID == runID {
		out, t.read = t.read, nil
	}
	return out
}

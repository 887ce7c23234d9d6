// Reading journals from the workflows of runs.

package engine

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historyapi "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// maxQueryBytes is how many bytes of events one query asks for.
const maxQueryBytes = 1 << 20

// eventsAfter returns the texts of events after the first n, of about size bytes.
func (s *Store) eventsAfter(runID string, n, size int) (out []json.RawMessage, err error) {
	info, start, err := s.readLatestStart(runID)
	if err != nil {
		return nil, err
	}
	run := info.GetExecution().GetRunId()
	add := func(texts []json.RawMessage) {
		out, n, size = append(out, texts...), n+len(texts), size-sumBytes(texts)
	}
	if start.Seed != nil {
		for _, one := range start.Seed.Earlier {
			if n < one.End && size > 0 {
				texts, err := s.readSegment(one)
				if err != nil {
					return nil, err
				}
				add(texts[n-(one.End-len(texts)):])
			}
		}
	}
	for hasMore := true; hasMore && size > 0; {
		var reply journalPart
		q := journalQuery{From: n, Size: min(size, maxQueryBytes), Live: s.tail.findNextLive(runID, run)}
		if err := s.queryRun(runID, run, queryJournal, &reply, q); err != nil {
			return nil, err
		}
		hasMore = sumBytes(reply.Events) >= q.Size
		isOpen := info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		if isOpen && reply.Task != 0 && n+len(reply.Events) > reply.FinalEvents {
			if done, err := s.isCompleted(runID, run, int64(reply.Task)); err != nil {
				return nil, err
			} else if !done {
				reply.Events = reply.Events[:max(0, reply.FinalEvents-n)]
				hasMore = len(reply.Events) > 0
			}
		}
		add(reply.Events)
		s.tail.addLive(runID, &reply, n)
	}
	return out, nil
}

func (s *Store) readSegment(one segment) (out []json.RawMessage, err error) {
	var text []byte
	err = s.retryConnecting(func() error {
		text, err = readBlob(s.cluster.blobs, one.Digest)
		return err
	})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func sumBytes(texts []json.RawMessage) (bytes int) {
	for _, text := range texts {
		bytes += len(text)
	}
	return bytes
}

// isCompleted reports whether the workflow task that began with a history event is completed. A
// queried worker also reads the unfinished task of a lost worker, which another one repeats with
// other events.
func (s *Store) isCompleted(runID, run string, task int64) (done bool, err error) {
	if task < 0 {
		return false, nil
	}
	var reply *workflowservice.GetWorkflowExecutionHistoryReverseResponse
	err = s.retryConnecting(func() (err error) {
		ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
		defer cancel()
		reply, err = s.cluster.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: s.cluster.settings.Namespace, Execution: &common.WorkflowExecution{WorkflowId: runID, RunId: run}, MaximumPageSize: 50,
		})
		return err
	})
	return slices.ContainsFunc(reply.GetHistory().GetEvents(), func(e *historyapi.HistoryEvent) bool {
		return e.GetEventId() == task+1 && e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	}), convertNotFound(runID, err)
}

// Events returns events after the first n, of about size bytes. After a read at the end of a
// followed run it returns none for a while, so that following does not slow the run down.
func (s *Store) Events(runID string, n, size int) ([]machine.Event, error) {
	from, isFresh := time.Now(), false
	s.tail.callIfFollowed(runID, func(t *liveTail) { isFresh = t.end == n && from.Before(t.until) })
	if isFresh {
		return nil, nil
	}
	texts, err := s.eventsAfter(runID, n, size)
	if err != nil {
		return nil, err
	}
	if sumBytes(texts) < size {
		s.tail.callIfFollowed(runID, func(t *liveTail) {
			t.end, t.until = n+len(texts), time.Now().Add(min(4*time.Since(from), 2*time.Second))
		})
	}
	return decodeEvents(texts)
}

// Snapshot returns the latest snapshot after at most that many events, or any number if negative.
func (s *Store) Snapshot(runID string, most int) (out store.Snapshot, err error) {
	err = s.queryRun(runID, "", queryState, &out, most)
	return out, err
}

// maxLive is how many live events a workflow keeps: clients ask several times a second.
const maxLive = 500

// Event stores a live event.
func (j *journal) Event(e *runner.Event) error {
	if !e.IsLive() {
		return nil
	}
	j.live = append(j.live, runner.LiveEvent{After: j.eventCount(), Event: *e})
	if len(j.live) > maxLive {
		j.live, j.liveFrom = j.live[1:], j.liveFrom+1
	}
	return nil
}

// liveTail holds the live events that a store has read of the run that it follows.
type liveTail struct {
	mu    sync.Mutex
	runID string
	run   string    // the workflow
	next  int       // number of its next event
	end   int       // events of the journal at the latest read
	until time.Time // when the journal is read again from there
	read  []runner.LiveEvent
}

// callIfFollowed calls do if the store follows a run.
func (t *liveTail) callIfFollowed(runID string, do func(*liveTail)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runID == runID {
		do(t)
	}
}

// followLive makes the store collect the live events of a run.
func (s *Store) followLive(runID string) {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	if t := &s.tail; t.runID != runID {
		t.runID, t.run, t.read = runID, "", nil
	}
}

// findNextLive returns the number of the next live event to read, or -1 to read none.
func (t *liveTail) findNextLive(runID, run string) int {
	next := -1
	t.callIfFollowed(runID, func(t *liveTail) {
		if t.run != run {
			t.run, t.next = run, 0
		}
		next = t.next
	})
	return next
}

// addLive adds the live events up to an event of the journal. Later ones are read again.
func (t *liveTail) addLive(runID string, part *journalPart, events int) {
	t.callIfFollowed(runID, func(t *liveTail) {
		for i, one := range part.Live {
			if number := part.LiveFrom + i; one.After <= events && number >= t.next {
				t.read, t.next = append(t.read, one), number+1
			}
		}
	})
}

// Live returns the live events of a run since the last call.
func (s *Store) Live(runID string) (out []runner.LiveEvent) {
	s.tail.callIfFollowed(runID, func(t *liveTail) { out, t.read = t.read, nil })
	return out
}

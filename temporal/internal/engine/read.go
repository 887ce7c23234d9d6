// Reading journals from the workflows of runs.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

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
	run := info.GetExecution().GetRunId()
	for run != "" {
		start, err := s.start(runID, run)
		if errors.Is(err, store.ErrNoRun) && len(out) > 0 { // what came before is not kept any more
			break
		}
		if err != nil {
			return nil, false, err
		}
		at := link{run: run}
		run = ""
		if start.Seed != nil {
			at.base = start.Seed.Base
			if at.base > 0 {
				run = start.Seed.Previous
			}
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
				q.Live = s.wanted(runID, at.run)
			}
			if err := s.query(runID, at.run, queryJournal, &reply, q); err != nil {
				return nil, err
			}
			if open && i+1 == len(links) && reply.Task != 0 && n+len(reply.Events) > reply.Sure {
				if done, err := s.completed(runID, at.run, int64(reply.Task)); err != nil {
					return nil, err
				} else if !done {
					reply.Events = reply.Events[:max(0, reply.Sure-n)]
				}
			}
			events := reply.Events[:min(len(reply.Events), end-n)]
			s.heardLive(runID, &reply, n+len(events))
			if len(events) == 0 {
				break
			}
			for _, text := range events {
				out, size = append(out, text), size-len(text)
			}
			n += len(events)
		}
	}
	return out, nil
}

// completed reports whether the workflow task that began with an event of a history is
// completed. A worker that is queried reads the history to its end, even if it ends with a
// workflow task of a lost worker, which another worker does again with later events.
func (s *Store) completed(runID, run string, task int64) (done bool, err error) {
	if task < 0 {
		return false, nil
	}
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: s.cluster.options.Namespace, Execution: &common.WorkflowExecution{WorkflowId: runID, RunId: run}, MaximumPageSize: 20,
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

// Events returns events after the first n, of about size bytes.
func (s *Store) Events(runID string, n, size int) ([]machine.Event, error) {
	texts, err := s.after(runID, n, size)
	if err != nil {
		return nil, err
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

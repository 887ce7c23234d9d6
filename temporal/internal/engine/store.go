// Runs on the cluster, as a store: so that whoever reads runs of a file reads these.

package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Store reads the runs of a cluster and asks things of them. It begins none: see
// Cluster.Run. What runs share it does not have: sessions and cached results.
type Store struct {
	store.Memory // for what is not of runs

	cluster *Cluster
	ctx     context.Context

	mu       sync.Mutex
	starts   map[string]*Start // by workflow run
	verdicts map[string]string // of offers
}

// link is a workflow run that has the events from base on.
type link struct {
	run  string
	base int
}

// Store is the store of the cluster's runs, for as long as ctx.
func (c *Cluster) Store(ctx context.Context) *Store {
	return &Store{cluster: c, ctx: ctx, starts: map[string]*Start{}, verdicts: map[string]string{}}
}

// Close ends the connection.
func (s *Store) Close() error {
	s.cluster.Close()
	return nil
}

// missing turns what the cluster says of a workflow that is not there.
func missing(runID string, err error) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return fmt.Errorf("run %q: %w", runID, runner.ErrNoRun)
	}
	return err
}

// latest is the workflow run that a run is at, and how it stands.
func (s *Store) latest(runID string) (*workflowapi.WorkflowExecutionInfo, error) {
	reply, err := s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
	if err != nil {
		return nil, missing(runID, err)
	}
	return reply.GetWorkflowExecutionInfo(), nil
}

func (s *Store) start(runID, run string) (*Start, error) {
	s.mu.Lock()
	start := s.starts[run]
	s.mu.Unlock()
	if start != nil {
		return start, nil
	}
	start, err := startOf(s.ctx, s.cluster.client, s.cluster.converter, runID, run)
	if err != nil {
		return nil, missing(runID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts[run] = start
	return start, nil
}

// Run returns the record of a run.
func (s *Store) Run(runID string) (runner.RunRecord, error) {
	info, err := s.latest(runID)
	if err != nil {
		return runner.RunRecord{}, err
	}
	start, err := s.start(runID, info.GetExecution().GetRunId())
	if err != nil {
		return runner.RunRecord{}, err
	}
	return start.Record, nil
}

// linksOf are the workflow runs of a run, the first one first.
func (s *Store) linksOf(runID string) ([]link, error) {
	info, err := s.latest(runID)
	if err != nil {
		return nil, err
	}
	run := info.GetExecution().GetRunId()
	var out []link
	for run != "" {
		start, err := s.start(runID, run)
		if err != nil {
			if len(out) > 0 { // what came before is not kept any more
				break
			}
			return nil, err
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
	return out, nil
}

// query asks a workflow run. While workers are there it is patient: they may be busy,
// or one of them was lost and another has to read the history first.
func (s *Store) query(runID, run, name string, reply any, args ...any) error {
	return s.patiently(runID, func() error {
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		value, err := s.cluster.client.QueryWorkflow(ctx, runID, run, name, args...)
		if err != nil {
			return err
		}
		return value.Get(reply)
	})
}

// patiently does what a worker has to answer, again if none does and some are there.
func (s *Store) patiently(runID string, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if s.ctx.Err() != nil || !unanswered(err) {
			return missing(runID, err)
		}
		there, err := s.cluster.workers(s.ctx)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("run %q can't be looked at: no worker answers for it; graphrun worker starts one", runID)
		}
		if err := pause(s.ctx, time.Second); err != nil {
			return err
		}
	}
}

// unanswered reports whether an error says that no worker has answered in time, that
// the one that was asked is gone, or that what was asked waits for one to do well what
// another one failed in. The caller has found its own context alive.
func unanswered(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var gone *serviceerror.Canceled
	var notReady *serviceerror.WorkflowNotReady
	return errors.As(err, &late) || errors.As(err, &gone) || errors.As(err, &notReady) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// part is how many bytes of events are asked for at once.
const part = 1 << 20

// after are the texts of events after the first n, of about size bytes.
func (s *Store) after(runID string, n, size int) ([]json.RawMessage, error) {
	links, err := s.linksOf(runID)
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
			if err := s.query(runID, at.run, queryJournal, &reply, journalQuery{From: n, Size: min(size, part)}); err != nil {
				return nil, err
			}
			events := reply.Events[:min(len(reply.Events), end-n)]
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

// Events returns all events.
func (s *Store) Events(runID string) ([]machine.Event, error) { return s.EventsAfter(runID, 0) }

// EventsAfter returns the events after the first n.
func (s *Store) EventsAfter(runID string, n int) ([]machine.Event, error) {
	return s.Stretch(runID, n, allBytes)
}

// Stretch returns events after the first n, of about size bytes.
func (s *Store) Stretch(runID string, n, size int) ([]machine.Event, error) {
	texts, err := s.after(runID, n, size)
	if err != nil {
		return nil, err
	}
	return decodeEvents(texts)
}

// Retractions returns which events take others back.
func (s *Store) Retractions(runID string) ([]runner.Retraction, error) {
	texts, err := s.after(runID, 0, allBytes)
	if err != nil {
		return nil, err
	}
	return retractionsOf(texts, 0)
}

// Snapshot returns the latest snapshot of at most so many events.
func (s *Store) Snapshot(runID string, most int) (out runner.Snapshot, err error) {
	links, err := s.linksOf(runID)
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

// Path returns the path up to a snapshot.
func (s *Store) Path(runID string, events int) (out []byte, err error) {
	links, err := s.linksOf(runID)
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Backward(links) {
		if at.base <= events {
			return out, s.query(runID, at.run, queryPath, &out, events)
		}
	}
	return nil, nil
}

// open reports whether the workflow of a run is open.
func (s *Store) open(runID string) (bool, error) {
	info, err := s.latest(runID)
	if err != nil {
		return false, err
	}
	return info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Create is the cluster's.
func (s *Store) Create(run runner.RunRecord, _ ...machine.Event) (runner.Journal, error) {
	return nil, s.cannot("run %q can't be driven here", run.ID)
}

// Fork is not to be had.
func (s *Store) Fork(run runner.RunRecord, _ string, _ int, _ ...machine.Event) (runner.Journal, error) {
	return nil, s.cannot("run %q can't be forked", run.ID)
}

// Open always finds a driver: the cluster.
func (s *Store) Open(runID, _ string) (runner.Journal, error) {
	open, err := s.open(runID)
	if err != nil {
		return nil, err
	}
	if !open {
		return nil, s.cannot("run %q has ended", runID)
	}
	return nil, &runner.LeasedError{RunID: runID, Owner: "the cluster"}
}

func (s *Store) cannot(format string, args ...any) error {
	return fmt.Errorf("engine temporal: "+format+": %w", append(args, errors.ErrUnsupported)...)
}

// Sweep finds nothing: a run that is there has started.
func (s *Store) Sweep(time.Time, bool) ([]string, error) { return nil, nil }

// update asks something of the workflow of a run and waits for the reply.
func (s *Store) update(runID, name string, arg, reply any) error {
	id := rand.Text() // so that asking again asks for the same
	return s.patiently(runID, func() error {
		handle, err := s.cluster.client.UpdateWorkflow(s.ctx, client.UpdateWorkflowOptions{
			WorkflowID: runID, UpdateID: id, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return err
		}
		return handle.Get(s.ctx, reply)
	})
}

// Ask asks something of a run.
func (s *Store) Ask(runID string, request runner.Request) error {
	return s.update(runID, updateAsk, request, nil)
}

// Offer gives a run answers; Offered then says what came of it.
func (s *Store) Offer(runID string, offer runner.Offer) error {
	var refused string
	err := s.update(runID, updateOffer, offer, &refused)
	var rejected *temporal.ApplicationError
	if errors.As(err, &rejected) {
		if text, ok := strings.CutPrefix(rejected.Message(), refusal); ok {
			refused, err = text, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts[offer.ID] = refused
	return err
}

// Offered says what came of an offer.
func (s *Store) Offered(id string) (open bool, refused string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return false, s.verdicts[id], nil
}

// Withdraw forgets an offer.
func (s *Store) Withdraw(id string) (open bool, refused string, err error) {
	open, refused, err = s.Offered(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.verdicts, id)
	return open, refused, err
}

// Delete forgets a run that has ended.
func (s *Store) Delete(runID string) error {
	open, err := s.open(runID)
	if err != nil {
		return err
	}
	if open {
		return &runner.LeasedError{RunID: runID, Owner: "the cluster"}
	}
	_, err = s.cluster.client.WorkflowService().DeleteWorkflowExecution(s.ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.cluster.options.Namespace, WorkflowExecution: execution(runID),
	})
	return missing(runID, err)
}

// Log returns what was said after a chunk.
func (s *Store) Log(runID string, after int64, most int) ([]runner.LogChunk, error) {
	all, err := s.cluster.logs.read(runID)
	if err != nil {
		return nil, err
	}
	all = all[min(int(after), len(all)):]
	return all[:min(most, len(all))], nil
}

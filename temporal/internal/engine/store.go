// Runs on the cluster as a store: the code that reads runs of a file reads these, too.

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Store reads the runs of a cluster and sends them requests. It caches no results.
type Store struct {
	store.Memory // for all that has nothing to do with runs

	cluster *Cluster
	ctx     context.Context

	starts cache[*Start] // by workflow run

	verdicts sync.Map     // on offers
	answered atomic.Int64 // the Unix time of the latest answer of a worker; 0: there was none

	mu   sync.Mutex
	tail *liveTail // of the run that is attended; nil for none
}

// Store is the store of the cluster's runs, for as long as ctx.
func (c *Cluster) Store(ctx context.Context) *Store {
	return &Store{cluster: c, ctx: ctx}
}

// Close ends the connection.
func (s *Store) Close() error {
	s.cluster.Close()
	return nil
}

// asNoRun turns the error of a workflow that is not there into store.ErrNoRun.
func asNoRun(runID string, err error) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return fmt.Errorf("run %q: %w", runID, store.ErrNoRun)
	}
	return err
}

// latest returns the latest workflow run of a run.
func (s *Store) latest(runID string) (*workflowapi.WorkflowExecutionInfo, error) {
	var reply *workflowservice.DescribeWorkflowExecutionResponse
	err := s.reach(func() (err error) {
		reply, err = s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
		return err
	})
	if err == nil && s.isVoid(reply.GetWorkflowExecutionInfo()) {
		return nil, fmt.Errorf("run %q: %w", runID, store.ErrNoRun)
	}
	return reply.GetWorkflowExecutionInfo(), asNoRun(runID, err)
}

// start returns the input of a workflow.
func (s *Store) start(runID, run string) (*Start, error) {
	start, err := s.starts.get(run, func() (start *Start, err error) {
		err = s.reach(func() (err error) {
			start, err = startOf(s.ctx, s.cluster.client, s.cluster.converter, runID, run)
			return err
		})
		return start, err
	})
	return start, asNoRun(runID, err)
}

// Run returns the record of a run.
func (s *Store) Run(runID string) (store.RunRecord, error) {
	info, err := s.latest(runID)
	if err != nil {
		return store.RunRecord{}, err
	}
	start, err := s.start(runID, info.GetExecution().GetRunId())
	if err != nil {
		return store.RunRecord{}, err
	}
	return start.Record, nil
}

// Create fails: only the cluster begins runs.
func (s *Store) Create(run store.RunRecord, _ ...machine.Event) (store.Journal, error) {
	return nil, s.cannot("run %q can't be driven here", run.ID)
}

// Fork fails: see ForkOf.
func (s *Store) Fork(run store.RunRecord, _ string, _ int, _ ...machine.Event) (store.Journal, error) {
	return nil, s.cannot("run %q can't be forked", run.ID)
}

// Open opens the journal of a run that has ended, for reading. Any other has a driver.
func (s *Store) Open(runID, _ string) (store.Journal, error) {
	info, err := s.latest(runID)
	if err != nil {
		return nil, err
	}
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return keeper{&journal{failed: s.cannot("run %q has ended; resume continues it", runID)}}, nil
	}
	return nil, &store.DrivenError{RunID: runID, Owner: owner(info)}
}

func (s *Store) cannot(format string, args ...any) error {
	return fmt.Errorf("engine temporal: "+format+": %w", append(args, errors.ErrUnsupported)...)
}

// updateCall is an update of a workflow. Sent again, it is the same.
type updateCall struct{ client.UpdateWorkflowOptions }

func newUpdate(at workflow.Execution, name string, args ...any) updateCall {
	return updateCall{client.UpdateWorkflowOptions{
		WorkflowID: at.ID, RunID: at.RunID, UpdateID: rand.Text(), UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	}}
}

// send sends the update and waits for the reply.
func (u updateCall) send(ctx context.Context, c client.Client, reply any) error {
	handle, err := c.UpdateWorkflow(ctx, u.UpdateWorkflowOptions)
	if err != nil {
		return err
	}
	return handle.Get(ctx, reply)
}

// update sends an update to the workflow of a run.
func (s *Store) update(runID, name string, reply any, args ...any) error {
	u := newUpdate(workflow.Execution{ID: runID}, name, args...)
	return s.retryAsking(runID, func() error { return u.send(s.ctx, s.cluster.client, reply) })
}

// Ask sends a run a request. A run that has ended ignores it: it may just have done so.
func (s *Store) Ask(runID string, request store.Request) error {
	err := s.update(runID, updateAsk, nil, request)
	if errors.Is(err, store.ErrNoRun) {
		_, err = s.latest(runID)
	}
	return err
}

// longestOffer is how long a run may take no answers because it is about to pause or to
// go on: as long as a driver of one machine has.
const longestOffer = 15 * time.Second

// Offer gives a run answers. Offered then returns its verdict. A run that has ended leaves
// the offer open.
func (s *Store) Offer(runID string, offer store.Offer) error {
	for end := time.Now().Add(longestOffer); ; {
		refused := ""
		err := s.update(runID, updateOffer, &refused, offer)
		if rejected := (*temporal.ApplicationError)(nil); errors.As(err, &rejected) && strings.HasPrefix(rejected.Message(), refusal) {
			refused, err = strings.TrimPrefix(rejected.Message(), refusal), nil
		}
		switch {
		case errors.Is(err, store.ErrNoRun):
			_, err = s.latest(runID)
			return err
		case err != nil:
			return err
		case refused != tryAgain || time.Now().After(end):
			s.verdicts.Store(offer.ID, refused)
			return nil
		}
		if err := pause(s.ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Offered returns the verdict on an offer.
func (s *Store) Offered(id string) (open bool, refused string, err error) {
	verdict, settled := s.verdicts.Load(id)
	refused, _ = verdict.(string)
	return !settled, refused, nil
}

// Withdraw forgets an offer and returns the verdict on it.
func (s *Store) Withdraw(id string) (open bool, refused string, err error) {
	open, refused, err = s.Offered(id)
	s.verdicts.Delete(id)
	return open, refused, err
}

// Delete has the cluster delete a run that has ended, which takes up to a minute.
func (s *Store) Delete(runID string) error {
	info, err := s.latest(runID)
	if err != nil {
		return err
	}
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return &store.DrivenError{RunID: runID, Owner: owner(info)}
	}
	return asNoRun(runID, s.deleteWorkflow(execution(runID)))
}

func (s *Store) deleteWorkflow(at *common.WorkflowExecution) error {
	_, err := s.cluster.client.WorkflowService().DeleteWorkflowExecution(s.ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.cluster.options.Namespace, WorkflowExecution: at,
	})
	return err
}

// Log returns the chunks after a number.
func (s *Store) Log(runID string, after int64, most int) ([]store.LogChunk, error) {
	all, err := readLogs(s.cluster.blobs, runID)
	if err != nil {
		return nil, err
	}
	all = all[min(int(after), len(all)):]
	return all[:min(most, len(all))], nil
}

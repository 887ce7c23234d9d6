// The runs of a cluster as a store, for the code that reads local runs.

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
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

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Store reads the runs of a cluster and sends them requests. It caches no results.
type Store struct {
	store.Memory // for everything but runs and sessions

	cluster *Cluster
	ctx     context.Context

	starts cache[*Start] // by workflow run

	verdicts sync.Map     // by the id of the offer
	answered atomic.Int64 // the Unix time of the latest answer of a worker, or 0
	tail     liveTail
}

// Store returns the store of the cluster's runs until ctx ends.
func (c *Cluster) Store(ctx context.Context) cli.ClusterStore { return &Store{cluster: c, ctx: ctx} }

// Close ends the connection.
func (s *Store) Close() error {
	s.cluster.Close()
	return nil
}

// convertNotFound turns the error of a workflow that is not there into store.ErrNoRun.
func convertNotFound(runID string, err error) error {
	if hasType[*serviceerror.NotFound](err) {
		return fmt.Errorf("run %q: %w", runID, store.ErrNoRun)
	}
	return err
}

// findLatestWorkflow returns the latest workflow run of a run.
func (s *Store) findLatestWorkflow(runID string) (*workflowapi.WorkflowExecutionInfo, error) {
	var reply *workflowservice.DescribeWorkflowExecutionResponse
	err := s.retryConnecting(func() (err error) {
		reply, err = s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
		return err
	})
	return reply.GetWorkflowExecutionInfo(), convertNotFound(runID, err)
}

// readLatestStart returns the latest workflow run of a run, and its input.
func (s *Store) readLatestStart(runID string) (*workflowapi.WorkflowExecutionInfo, *Start, error) {
	info, err := s.findLatestWorkflow(runID)
	if err != nil {
		return nil, nil, err
	}
	run := info.GetExecution().GetRunId()
	start, err := s.starts.getOrRead(run, func() (start *Start, err error) {
		err = s.retryConnecting(func() (err error) {
			start, err = readStart(s.ctx, s.cluster.client, s.cluster.converter, runID, run)
			return err
		})
		return start, err
	})
	return info, start, convertNotFound(runID, err)
}

// Run returns the record of a run.
func (s *Store) Run(runID string) (out store.RunRecord, err error) {
	_, start, err := s.readLatestStart(runID)
	if err == nil {
		out = start.Record
	}
	return out, err
}

// Open opens the journal of a run that has ended, for reading. Every other run has a driver.
func (s *Store) Open(runID, _ string) (store.Journal, error) {
	info, err := s.findLatestWorkflow(runID)
	if err != nil {
		return nil, err
	}
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return driverJournal{&journal{failed: fmt.Errorf("run %q has ended; resume continues it: %w", runID, errors.ErrUnsupported)}}, nil
	}
	return nil, &store.DrivenError{RunID: runID, Owner: formatWorkflowOwner(info)}
}

// sendUpdate updates a workflow and waits for the reply. Updates with the same id take effect once.
func sendUpdate(ctx context.Context, c client.Client, at workflow.Execution, id, name string, reply any, args ...any) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: at.ID, RunID: at.RunID, UpdateID: id, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, reply)
}

func (s *Store) updateRun(runID, name string, reply any, args ...any) error {
	id := rand.Text()
	return s.retryRequest(runID, func() error {
		return sendUpdate(s.ctx, s.cluster.client, workflow.Execution{ID: runID}, id, name, reply, args...)
	})
}

// SendRequest sends a run a request. It succeeds for a run that has ended, perhaps a moment ago.
func (s *Store) SendRequest(runID string, request store.Request) error {
	err := s.updateRun(runID, updateRequest, nil, request)
	if errors.Is(err, store.ErrNoRun) {
		_, err = s.findLatestWorkflow(runID)
	}
	return err
}

// longestOffer is how long SendOffer retries while a run pauses or continues, as for local runs.
const longestOffer = 15 * time.Second

// SendOffer gives a run answers. OfferStatus returns the verdict. A run that has ended leaves an offer open.
func (s *Store) SendOffer(runID string, offer store.Offer) error {
	for end := time.Now().Add(longestOffer); ; {
		refused := ""
		err := s.updateRun(runID, updateOffer, &refused, offer)
		if rejected := (*temporal.ApplicationError)(nil); errors.As(err, &rejected) && strings.HasPrefix(rejected.Message(), refusal) {
			refused, err = strings.TrimPrefix(rejected.Message(), refusal), nil
		}
		switch {
		case errors.Is(err, store.ErrNoRun):
			_, err = s.findLatestWorkflow(runID)
			return err
		case err != nil:
			return err
		case refused != tryAgain || time.Now().After(end):
			s.verdicts.Store(offer.ID, refused)
			return nil
		}
		if err := sleep(s.ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// OfferStatus returns the verdict on an offer.
func (s *Store) OfferStatus(id string) (open bool, refused string, err error) {
	verdict, settled := s.verdicts.Load(id)
	refused, _ = verdict.(string)
	return !settled, refused, nil
}

// WithdrawOffer forgets an offer and returns the verdict on it.
func (s *Store) WithdrawOffer(id string) (open bool, refused string, err error) {
	open, refused, err = s.OfferStatus(id)
	s.verdicts.Delete(id)
	return open, refused, err
}

// Delete deletes a run that has ended, which takes the cluster up to a minute.
func (s *Store) Delete(runID string) error {
	info, err := s.findLatestWorkflow(runID)
	if err != nil {
		return err
	}
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return &store.DrivenError{RunID: runID, Owner: formatWorkflowOwner(info)}
	}
	_, err = s.cluster.client.WorkflowService().DeleteWorkflowExecution(s.ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.cluster.settings.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: runID},
	})
	return convertNotFound(runID, err)
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

// memo is the summary of a run in the memo of its workflow.
type memo struct {
	store.RunSummary
	// Driven means that the workflow drives the run, which is not paused.
	Driven bool `json:"driven"`
}

func newMemo(r *store.RunRecord, at store.RunSummary) memo {
	out := memo{at, true}
	out.RunRecord = *r
	out.Source, out.Files = nil, nil
	return out
}

// List returns the runs that match a filter, the last started first.
func (s *Store) List(filter store.RunFilter) (out []store.RunSummary, err error) {
	if filter.ID != "" {
		_, one, err := s.describeRun(filter.ID)
		switch {
		case errors.Is(err, store.ErrNoRun):
			return nil, nil
		case err == nil && one.ID != "" && filter.Match(&one):
			out = append(out, one)
		}
		return out, err
	}
	seen := map[string]bool{} // a run that was resumed has several workflows
	err = s.visitWorkflows(fmt.Sprintf("WorkflowType = %q AND ExecutionStatus != 'ContinuedAsNew'", workflowName), func(info *workflowapi.WorkflowExecutionInfo) error {
		one := s.summarize(info)
		if one.ID != "" && !seen[one.ID] && filter.Match(&one) {
			out = append(out, one)
		}
		seen[one.ID] = true
		return nil
	})
	slices.SortStableFunc(out, func(a, b store.RunSummary) int { return b.Started.Compare(a.Started) })
	if filter.Limit > 0 && len(out) > filter.Limit {
		out = out[:filter.Limit]
	}
	return out, err
}

// visitWorkflows calls do for each workflow that matches a query.
func (s *Store) visitWorkflows(query string, do func(*workflowapi.WorkflowExecutionInfo) error) error {
	for next := []byte(nil); ; {
		reply, err := s.cluster.client.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: next})
		if err != nil {
			return err
		}
		for _, info := range reply.GetExecutions() {
			if err := do(info); err != nil {
				return err
			}
		}
		if next = reply.GetNextPageToken(); len(next) == 0 {
			return nil
		}
	}
}

// summarize returns the summary of the run of a workflow, or one without an ID for other workflows.
func (s *Store) summarize(info *workflowapi.WorkflowExecutionInfo) (out store.RunSummary) {
	if info.GetType().GetName() != workflowName {
		return out
	}
	at := memo{store.RunSummary{Status: machine.Running}, true}
	at.Started = info.GetStartTime().AsTime()
	if field := info.GetMemo().GetFields()[memoStatus]; field != nil && s.cluster.converter.FromPayload(field, &at) != nil {
		return out
	}
	out = at.RunSummary
	out.ID = info.GetExecution().GetWorkflowId()
	switch isOpen := info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING; {
	case isOpen && at.Driven:
		out.Owner = formatWorkflowOwner(info)
	case !isOpen && at.Status == machine.Running: // terminated from outside
		out.Status, out.Reason = machine.Cancelled, "terminated"
	}
	if out.Updated.IsZero() {
		out.Updated = out.Started
	}
	return out
}

// formatWorkflowOwner returns the owner of the run of an open workflow.
func formatWorkflowOwner(info *workflowapi.WorkflowExecutionInfo) string {
	queue, _, _ := strings.Cut(info.GetTaskQueue(), "@")
	return formatOwner(queue)
}

func formatOwner(queue string) string { return "the cluster (task queue " + queue + ")" }

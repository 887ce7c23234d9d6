// Lists of the runs of a cluster.

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// List returns the runs that match a filter, the last started first.
func (s *Store) List(filter store.RunFilter) ([]store.RunSummary, error) {
	var out []store.RunSummary
	if filter.ID != "" {
		_, one, err := s.describe(filter.ID)
		if errors.Is(err, store.ErrNoRun) {
			return nil, nil
		}
		if err == nil && one.ID != "" && filter.Match(&one) {
			out = append(out, one)
		}
		return out, err
	}
	var next []byte
	seen := map[string]bool{}
	for {
		reply, err := s.cluster.client.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = %q AND ExecutionStatus != 'ContinuedAsNew'", workflowName), NextPageToken: next,
		})
		if err != nil {
			return nil, err
		}
		for _, info := range reply.GetExecutions() {
			one, ok := s.summary(info)
			if !ok || seen[one.ID] { // a run that was resumed has two
				continue
			}
			seen[one.ID] = true
			if filter.Match(&one) {
				out = append(out, one)
			}
		}
		if next = reply.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b store.RunSummary) int { return b.Started.Compare(a.Started) })
	if filter.Limit > 0 && len(out) > filter.Limit {
		out = out[:filter.Limit]
	}
	return out, nil
}

// summary returns the summary of a run; ok is false for one of which nothing is kept.
func (s *Store) summary(info *workflowapi.WorkflowExecutionInfo) (out store.RunSummary, ok bool) {
	if info.GetType().GetName() != workflowName {
		return out, false
	}
	open := info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	at, err := s.standing(info)
	if err != nil || at.Void {
		return out, false
	}
	out = at.RunSummary
	out.ID = info.GetExecution().GetWorkflowId()
	switch {
	case open && at.Driven:
		out.Owner = owner(info)
	case !open && at.Status == machine.Running: // terminated from outside
		out.Status, out.Reason = machine.Cancelled, "terminated"
	}
	if out.Updated.IsZero() {
		out.Updated = out.Started
	}
	return out, true
}

// owner returns the owner of the run of an open workflow.
func owner(info *workflowapi.WorkflowExecutionInfo) string {
	queue, _, _ := strings.Cut(info.GetTaskQueue(), "@")
	return ownerOf(queue)
}

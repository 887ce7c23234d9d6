// Runs that found no slot in their group: new ones leave nothing, others do not change.

package engine

import (
	"context"
	"errors"
	"fmt"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Kinds of errors of workflows and updates that keep nothing.
const (
	refusedKind = "refused" // what the run was given does not fit
	busyKind    = "busy"    // the group has no slot; the details are a store.Waiting
	stoppedKind = "stopped" // while it waited for a slot
)

// rejection returns why a run found no slot, if err of its workflow says so.
func rejection(runID string, err error) error {
	var rejected *temporal.ApplicationError
	if !errors.As(err, &rejected) {
		return nil
	}
	busy := &store.BusyError{RunID: runID}
	switch {
	case rejected.Type() == stoppedKind:
		return stoppedError(runID)
	case rejected.Type() == busyKind && rejected.Details(&busy.Waiting) == nil:
		return localTimes(busy)
	}
	return nil
}

// localTimes makes the times of an error local.
func localTimes(busy *store.BusyError) error {
	for i := range busy.Members {
		busy.Members[i].Since = busy.Members[i].Since.Local()
	}
	return busy
}

// stoppedError is the error of a run that was stopped before it was resumed.
func stoppedError(runID string) error {
	return fmt.Errorf("run %q was not resumed: %w", runID, store.ErrStopped)
}

// standing returns the summary that a workflow gives of its run.
func (s *Store) standing(info *workflowapi.WorkflowExecutionInfo) (at standing, err error) {
	at.Driven, at.Status, at.Started = true, machine.Running, info.GetStartTime().AsTime()
	if field := info.GetMemo().GetFields()[memoStatus]; field != nil {
		err = s.cluster.converter.FromPayload(field, &at)
	}
	return at, err
}

// isVoid reports whether nothing is kept of the run of a workflow.
func (s *Store) isVoid(info *workflowapi.WorkflowExecutionInfo) bool {
	at, err := s.standing(info)
	return err == nil && at.Void && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_FAILED
}

// findVoid returns the workflow of a run of which nothing is kept; nil: there is none.
func (s *Store) findVoid(runID string) *common.WorkflowExecution {
	reply, err := s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
	if info := reply.GetWorkflowExecutionInfo(); err == nil && s.isVoid(info) {
		return info.GetExecution()
	}
	return nil
}

// forgetVoid has the cluster delete the workflow of a run of which nothing is kept.
func (s *Store) forgetVoid(runID string) {
	if void := s.findVoid(runID); void != nil {
		_ = s.deleteWorkflow(void) // one that stays counts as none
	}
}

// rejectedStore rejects a run once more in this process, which emits the events of that.
type rejectedStore struct {
	*Store
	busy *store.Waiting
}

// Create returns a journal that nobody reads.
func (r rejectedStore) Create(store.RunRecord, ...machine.Event) (store.Journal, error) {
	return busyJournal{keeper{&journal{}}, r.busy}, nil
}

// Fork returns such a journal.
func (r rejectedStore) Fork(store.RunRecord, string, int, ...machine.Event) (store.Journal, error) {
	return busyJournal{keeper{&journal{}}, r.busy}, nil
}

// Delete does nothing: the run does not exist.
func (r rejectedStore) Delete(string) error { return nil }

// busyJournal is a journal whose group is busy.
type busyJournal struct {
	keeper
	busy *store.Waiting
}

// Enter returns the members of the group.
func (j busyJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Members: j.busy.Members}, nil
}

// rejected returns the result of a new run that found no slot. The cluster forgets it.
func (s *Store) rejected(ctx context.Context, start *Start, opts runner.Options, busy *store.BusyError) (*runner.Result, error) {
	s.forgetVoid(busy.RunID)
	_, flow, err := flowRunner(&start.Record, runner.Config{
		Kinds: node.Kinds(node.Options{}), Store: rejectedStore{s, &busy.Waiting}, Secrets: sealedSecrets(start.Nonce),
	})
	if err != nil {
		return nil, errors.Join(busy, err)
	}
	return flow.Run(ctx, opts)
}

// attendResumed attends a run that was resumed when it had so many events. A run that has
// no more of them then found no slot.
func (s *Store) attendResumed(ctx context.Context, r *runner.Runner, runID string, told int, opts runner.Options) (*runner.Result, error) {
	result, err := s.attend(ctx, r, runID, told, opts)
	if err != nil {
		return result, err
	}
	if texts, err := s.after(runID, told, 1); err != nil || len(texts) > 0 {
		return result, err
	}
	info, err := s.latest(runID)
	if err != nil {
		return result, err
	}
	at, err := s.standing(info)
	switch {
	case err != nil:
		return result, err
	case at.Busy == nil:
		return result, stoppedError(runID)
	}
	return result, localTimes(&store.BusyError{RunID: runID, Waiting: *at.Busy})
}

// keepsNothing reports whether a run that is refused has not begun, so nothing is kept of it.
// A fork that was stopped while it waited is kept.
func (f *workflowRun) keepsNothing(result *runner.Result, err error) bool {
	busy, stopped := (*store.BusyError)(nil), errors.Is(err, store.ErrStopped)
	switch seed := f.start.Seed; {
	case seed == nil:
		return f.told.Status == ""
	case f.start.Before != nil:
		return f.told.Status == "" && !stopped && !errors.As(err, &busy)
	default:
		held := result != nil && result.Reason == "concurrency"
		return seed.Fork && !f.store.noted && !(held && stopped)
	}
}

// refuse ends the workflow of a run of which nothing is kept.
func (f *workflowRun) refuse(err error) error {
	f.over = true
	f.awaitHandlers()
	busy := (*store.BusyError)(nil)
	switch {
	case errors.As(err, &busy):
		err = rejectedAs(busyKind, err, &busy.Waiting)
	case errors.Is(err, store.ErrStopped):
		err = rejectedAs(stoppedKind, err)
	default:
		return rejectedAs(refusedKind, err)
	}
	void := standingOf(&f.start.Record, nil)
	void.Void = true
	if err := workflow.UpsertMemo(f.ctx, map[string]any{memoStatus: void}); err != nil {
		return err
	}
	f.awaitLeft()
	return err
}

// rejectedAs returns the error of a workflow or an update that keeps nothing.
func rejectedAs(kind string, cause error, details ...any) error {
	return temporal.NewNonRetryableApplicationError(cause.Error(), kind, cause, details...)
}

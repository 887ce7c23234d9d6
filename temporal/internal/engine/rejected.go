// Runs that found no slot in their group: of new ones nothing is kept, others do not change.

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// busyIn is the error of a run that found no place, if a workflow says so.
func busyIn(runID string, err error) *store.BusyError {
	var away *temporal.ApplicationError
	if !errors.As(err, &away) || away.Type() != busyKind {
		return nil
	}
	busy := &store.BusyError{RunID: runID}
	if away.Details(&busy.Waiting) != nil {
		return nil
	}
	local(&busy.Waiting)
	return busy
}

// local tells times as they are here.
func local(w *store.Waiting) {
	for i := range w.Members {
		w.Members[i].Since = w.Members[i].Since.Local()
	}
}

// rejection is why nothing is kept of a run whose workflow has failed; nil: that is not
// so.
func rejection(runID string, err error) error {
	if busy := busyIn(runID, err); busy != nil {
		return busy
	}
	var away *temporal.ApplicationError
	if errors.As(err, &away) && away.Type() == stoppedKind {
		return stoppedError(runID)
	}
	return nil
}

// whyRejected is why nothing is kept of a run; nil: that is not so.
func (s *Store) whyRejected(runID string) error {
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	return rejection(runID, s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil))
}

// void reports whether nothing is kept of the run of a workflow.
func (s *Store) void(info *workflowapi.WorkflowExecutionInfo) bool {
	field := info.GetMemo().GetFields()[memoStatus]
	if field == nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
		return false
	}
	var at standing
	return s.cluster.converter.FromPayload(field, &at) == nil && at.Void
}

// isVoid reports whether the last workflow of an id is one that keeps nothing.
func (s *Store) isVoid(runID string) bool {
	reply, err := s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
	return err == nil && s.void(reply.GetWorkflowExecutionInfo())
}

// forget has the cluster delete the workflow of a run of which nothing is kept. One that
// it does not is taken for none.
func (s *Store) forget(runID string) {
	reply, err := s.cluster.client.DescribeWorkflowExecution(s.ctx, runID, "")
	if info := reply.GetWorkflowExecutionInfo(); err == nil && s.void(info) {
		_ = s.deleteWorkflow(&common.WorkflowExecution{WorkflowId: runID, RunId: info.GetExecution().GetRunId()})
	}
}

// rejectedStore is the store of a run that is rejected once more, here, to tell of it.
type rejectedStore struct {
	*Store
	busy *store.Waiting
}

// Create makes a journal that nobody reads.
func (r rejectedStore) Create(store.RunRecord, ...machine.Event) (store.Journal, error) {
	return busyJournal{keeper{&journal{}}, r.busy}, nil
}

// Fork makes one, too.
func (r rejectedStore) Fork(store.RunRecord, string, int, ...machine.Event) (store.Journal, error) {
	return busyJournal{keeper{&journal{}}, r.busy}, nil
}

// Delete deletes nothing: the run was never there.
func (r rejectedStore) Delete(string) error { return nil }

// busyJournal is the journal of a run that finds its group busy.
type busyJournal struct {
	keeper
	busy *store.Waiting
}

// Enter says who is inside.
func (j busyJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Members: j.busy.Members}, nil
}

// rejected tells how a new run ends that found no slot.
func (s *Store) rejected(ctx context.Context, start *Start, opts runner.Options, busy *store.BusyError) (*runner.Result, error) {
	s.forget(busy.RunID)
	_, flow, err := flowRunner(&start.Record, runner.Config{
		Kinds: node.Kinds(node.Options{}), Store: rejectedStore{s, &busy.Waiting}, Secrets: sealedSecrets(start.Nonce),
	})
	if err != nil {
		return nil, errors.Join(busy, err)
	}
	return flow.Run(ctx, opts)
}

// unchangedResult is the result of a run that was not resumed; why says why.
func (s *Store) unchangedResult(r *runner.Runner, runID string, told int, opts runner.Options, why error) (*runner.Result, error) {
	result, err := r.Attend(s.ctx, runID, told, runner.Options{Sink: opts.Sink, History: opts.History}, func(*runner.Result) (bool, error) { return true, nil })
	return result, errors.Join(why, err)
}

// attendResumed attends a run that was resumed when it had so many events, and may find no
// slot.
func (s *Store) attendResumed(ctx context.Context, r *runner.Runner, runID string, told int, opts runner.Options) (*runner.Result, error) {
	result, err := s.attend(ctx, r, runID, told, opts)
	if err == nil {
		err = s.whyUnchanged(runID, told)
	}
	return result, err
}

// whyUnchanged says why a run that was resumed when it had so many events has no more; nil: it
// has gone on.
func (s *Store) whyUnchanged(runID string, told int) error {
	texts, err := s.after(runID, told, 1)
	if err != nil || len(texts) > 0 {
		return err
	}
	info, err := s.latest(runID)
	if err != nil {
		return err
	}
	var at standing
	if err := s.cluster.converter.FromPayload(info.GetMemo().GetFields()[memoStatus], &at); err != nil {
		return err
	}
	if at.Busy == nil {
		return stoppedError(runID)
	}
	local(at.Busy)
	return &store.BusyError{RunID: runID, Waiting: *at.Busy}
}

// stoppedError is the error of a run that was stopped before it was resumed.
func stoppedError(runID string) error {
	return fmt.Errorf("run %q was not resumed: %w", runID, store.ErrStopped)
}

// driven reports whether the cluster drives a run.
func (s *Store) driven(runID string) (bool, error) {
	info, err := s.latest(runID)
	if err != nil {
		return false, err
	}
	one, ok := s.summary(info)
	return ok && one.Owner != "", nil
}

// Kinds of errors of workflows that keep nothing.
const (
	refusedKind = "refused" // what the run was given does not fit
	busyKind    = "busy"    // its details are a store.Waiting
	stoppedKind = "stopped" // while it waited for a slot
)

// keepsNothing reports whether nothing is kept of the run: it has not begun. A fork
// that has, on paper, and was stopped while it waited, is kept as any run is.
func (f *workflowRun) keepsNothing() bool {
	h := f.host
	if h.err == nil {
		return false
	}
	busy, stopped := (*store.BusyError)(nil), errors.Is(h.err, store.ErrStopped)
	switch {
	case h.start.Seed == nil:
		return f.told.Status == ""
	case h.start.Before != nil:
		return f.told.Status == "" && !stopped && !errors.As(h.err, &busy)
	}
	held := h.result != nil && h.result.Reason == "concurrency"
	return h.start.Seed.Fork && !h.store.noted && !(held && stopped)
}

// refuse ends the workflow of a run of which nothing is kept.
func (f *workflowRun) refuse() error {
	err := f.host.err
	busy := (*store.BusyError)(nil)
	switch {
	case errors.As(err, &busy):
		err = rejectedAs(busyKind, err, &busy.Waiting)
	case errors.Is(err, store.ErrStopped):
		err = rejectedAs(stoppedKind, err)
	default:
		return rejectedAs(refusedKind, err)
	}
	void := standingOf(&f.host.start.Record, nil)
	void.Void = true
	if err := workflow.UpsertMemo(f.ctx, map[string]any{memoStatus: void}); err != nil {
		return err
	}
	f.awaitLeft()
	return err
}

// rejectedAs is the error of a workflow, or an update, that keeps nothing.
func rejectedAs(kind string, cause error, details ...any) error {
	return temporal.NewNonRetryableApplicationError(cause.Error(), kind, cause, details...)
}

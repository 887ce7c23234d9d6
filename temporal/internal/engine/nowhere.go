// Runs of which nothing is kept, or that stay as they were: they found no place in their
// group.

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

// keptNothing is why nothing is kept of a run whose workflow has failed; nil: that is not
// so.
func keptNothing(runID string, err error) error {
	if busy := busyIn(runID, err); busy != nil {
		return busy
	}
	var away *temporal.ApplicationError
	if errors.As(err, &away) && away.Type() == stoppedKind {
		return stayedAs(runID)
	}
	return nil
}

// nothingKept is why nothing is kept of a run; nil: that is not so.
func (s *Store) nothingKept(runID string) error {
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	return keptNothing(runID, s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil))
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

// lobby is the store of a run that is turned away once more, here, to tell of it.
type lobby struct {
	*Store
	busy *store.Waiting
}

// Create makes a journal that nobody reads.
func (l lobby) Create(store.RunRecord, ...machine.Event) (store.Journal, error) {
	return busyJournal{keeper{&journal{}}, l.busy}, nil
}

// busyJournal is the journal of a run that finds its group busy.
type busyJournal struct {
	keeper
	busy *store.Waiting
}

// Enter says who is inside.
func (j busyJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Members: j.busy.Members}, nil
}

// turnedAway tells how a new run ends that found no place.
func (s *Store) turnedAway(ctx context.Context, start *Start, opts runner.Options, busy *store.BusyError) (*runner.Result, error) {
	s.forget(busy.RunID)
	_, flow, err := flowRunner(&start.Record, runner.Config{
		Kinds: node.Kinds(node.Options{}), Store: lobby{s, &busy.Waiting}, Secrets: sealedSecrets(start.Nonce),
	})
	if err != nil {
		return nil, errors.Join(busy, err)
	}
	return flow.Run(ctx, opts)
}

// asItWas tells how a run stands that was not taken up; why says why.
func (s *Store) asItWas(r *runner.Runner, runID string, told int, opts runner.Options, why error) (*runner.Result, error) {
	result, err := r.Attend(s.ctx, runID, told, runner.Options{Sink: opts.Sink, History: opts.History}, func(*runner.Result) (bool, error) { return true, nil })
	return result, errors.Join(why, err)
}

// attendTakenUp attends a run that was taken up when it had so many events, which may find
// no place.
func (s *Store) attendTakenUp(ctx context.Context, r *runner.Runner, runID string, told int, opts runner.Options) (*runner.Result, error) {
	result, err := s.attend(ctx, r, runID, told, opts)
	if err == nil {
		err = s.stayed(runID, told)
	}
	return result, err
}

// stayed is why a run is as it was that was taken up when it had so many events; nil: it
// has gone on.
func (s *Store) stayed(runID string, told int) error {
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
		return stayedAs(runID)
	}
	local(at.Busy)
	return &store.BusyError{RunID: runID, Waiting: *at.Busy}
}

// stayedAs is the error of a run that was stopped before it was taken up.
func stayedAs(runID string) error {
	return fmt.Errorf("run %q is as it was: %w", runID, store.ErrStopped)
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

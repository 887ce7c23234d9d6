// Sessions. The workflow of a session passes state keys from run to run.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// Names of sessions on the cluster.
const (
	sessionName       = "graphrun-session"
	updateSessionName = "graphrun-leave" // the activity of a run, and the update
	querySession      = "graphrun-session"
	sessionPrefix     = "session/" // of workflow ids; no run's id has a slash
)

// maxSessionUpdates is how many runs update a session before its workflow continues as new.
const maxSessionUpdates = 500

// keptSession is a session on the cluster.
type keptSession struct {
	store.Session
	// Nonce is the nonce of all its runs, so that each reads the secret marks of the others.
	Nonce string
}

// Session is the workflow of a session.
func (w *Worker) Session(ctx workflow.Context, kept *keptSession) error {
	left := 0
	err := errors.Join(
		workflow.SetQueryHandler(ctx, querySession, func() (*keptSession, error) { return kept, nil }),
		workflow.SetUpdateHandler(ctx, updateSessionName, func(_ workflow.Context, more *keptSession) error {
			if kept != nil {
				more.Session = more.MergeOver(kept.Session)
			}
			kept, left = more, left+1
			return nil
		}),
	)
	if err != nil {
		return err
	}
	err = workflow.Await(ctx, func() bool {
		return (left >= maxSessionUpdates || workflow.GetInfo(ctx).GetContinueAsNewSuggested()) && workflow.AllHandlersFinished(ctx)
	})
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, sessionName, kept)
}

// UpdateSession is the activity that updates a session. Repeating an update changes nothing.
func (w *Worker) UpdateSession(ctx context.Context, left *keptSession) error {
	id := left.Run + "/" + strconv.FormatInt(left.Updated.UnixNano(), 10)
	return w.updateOrStart(ctx, sessionName, sessionPrefix+left.ID, updateSessionName, id, left, nil)
}

// saveSession saves the session of the run, if it has one.
func (f *workflowRun) saveSession() error {
	left, start := f.store.left, f.start
	if left == nil {
		return nil
	}
	saving := workflow.ExecuteActivity(f.newActivityContext(sessionPrefix+left.ID), updateSessionName, keptSession{*left, start.Nonce})
	f.await(saving.IsReady)
	return saving.Get(f.ctx, nil)
}

// readSession returns a session with its nonce.
func (s *Store) readSession(id string) (*keptSession, error) {
	info, err := s.findLatestWorkflow(sessionPrefix + id)
	var kept *keptSession
	if err == nil && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		err = s.queryRun(sessionPrefix+id, "", querySession, &kept)
	}
	if kept == nil && (err == nil || errors.Is(err, store.ErrNoRun)) { // no run has left anything yet
		err = fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	return kept, err
}

// Session returns a session.
func (s *Store) Session(id string) (out store.Session, err error) {
	kept, err := s.readSession(id)
	if err == nil {
		out = kept.Session
	}
	return out, err
}

// Sessions lists all sessions.
func (s *Store) Sessions() (out []store.Session, err error) {
	err = s.visitWorkflows(fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", sessionName), func(info *workflowapi.WorkflowExecutionInfo) error {
		one, err := s.Session(strings.TrimPrefix(info.GetExecution().GetWorkflowId(), sessionPrefix))
		if errors.Is(err, store.ErrNoSession) {
			return nil
		}
		out = append(out, one)
		return err
	})
	slices.SortFunc(out, store.Session.Compare)
	return out, err
}

// DeleteSession ends the workflow of a session.
func (s *Store) DeleteSession(id string) error {
	if _, err := s.readSession(id); err != nil {
		return err
	}
	return s.retryConnecting(func() error { return s.cluster.client.TerminateWorkflow(s.ctx, sessionPrefix+id, "", "deleted") })
}

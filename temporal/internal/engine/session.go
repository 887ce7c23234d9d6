// Sessions: what the runs of a session leave is kept by a workflow of its own.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// Names of sessions on the cluster.
const (
	sessionName   = "graphrun-session"
	leaveName     = "graphrun-leave" // the activity of a run, and the update
	querySession  = "graphrun-session"
	sessionPrefix = "session/" // of workflow ids; no run's id has a slash
)

// maxLeft is how many runs leave something to a session before its history begins anew.
const maxLeft = 500

// sessionQueue is the task queue of the sessions: workers of every version of the core
// serve it.
func sessionQueue(queue string) string { return queue + "@sessions" }

// keptSession is a store.Session on the wire.
type keptSession struct {
	store.Session // without Keys
	// Values are the keys, as a store encodes them.
	Values json.RawMessage
	// Nonce is that of its runs: one can read the marks of secrets that another left.
	Nonce string
}

func keepSession(s *store.Session, nonce string) (*keptSession, error) {
	values, err := store.EncodeValue(s.Keys)
	out := &keptSession{Session: *s, Values: values, Nonce: nonce}
	out.Keys = nil
	return out, err
}

// session is the session again; that of nil has nothing.
func (k *keptSession) session() (out store.Session, err error) {
	if k == nil {
		return out, nil
	}
	keys, err := store.DecodeValue(k.Values)
	out = k.Session
	out.Keys, _ = keys.(map[string]any)
	return out, err
}

// merge is the session that results when a run leaves something to it.
func (k *keptSession) merge(left *keptSession) (*keptSession, error) {
	before, err := k.session()
	last, wrong := left.session()
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	merged := last.After(before)
	return keepSession(&merged, left.Nonce)
}

// Session is the workflow of a session.
func (w *Worker) Session(ctx workflow.Context, kept *keptSession) error {
	left := 0
	err := errors.Join(
		workflow.SetQueryHandler(ctx, querySession, func() (*keptSession, error) { return kept, nil }),
		workflow.SetUpdateHandler(ctx, leaveName, func(_ workflow.Context, more *keptSession) error {
			merged, err := kept.merge(more)
			if err == nil {
				kept, left = merged, left+1
			}
			return err
		}),
	)
	if err != nil {
		return err
	}
	err = workflow.Await(ctx, func() bool {
		return (left >= maxLeft || workflow.GetInfo(ctx).GetContinueAsNewSuggested()) && workflow.AllHandlersFinished(ctx)
	})
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, sessionName, kept)
}

// Leave is the activity that leaves what a run had to its session.
func (w *Worker) Leave(ctx context.Context, queue string, left *keptSession) error {
	begin := w.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: sessionPrefix + left.ID, TaskQueue: sessionQueue(queue), StaticSummary: "session " + left.ID,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, sessionName, (*keptSession)(nil))
	handle, err := w.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: begin,
		UpdateOptions: client.UpdateWorkflowOptions{
			// So that leaving again leaves the same.
			UpdateID:   left.Run + "/" + strconv.FormatInt(left.Updated.UnixNano(), 10),
			UpdateName: leaveName, Args: []any{left}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// leave leaves what the run had to its session, if it is in one.
func (f *workflowRun) leave() error {
	left, start := f.store.left, f.start
	if left == nil {
		return nil
	}
	kept, err := keepSession(left, start.Nonce)
	if err != nil {
		return err
	}
	leaving := workflow.ExecuteActivity(f.activityContext("session "+left.ID), leaveName, start.Queue, kept)
	f.await(leaving.IsReady)
	return leaving.Get(f.ctx, nil)
}

// keptSession asks for a session.
func (s *Store) keptSession(id string) (*keptSession, error) {
	open, err := s.open(sessionPrefix + id)
	if errors.Is(err, store.ErrNoRun) || err == nil && !open {
		return nil, fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	if err != nil {
		return nil, err
	}
	var kept *keptSession
	if err := s.query(sessionPrefix+id, "", querySession, &kept); err != nil {
		return nil, err
	}
	if kept == nil { // the first of its runs is just about to leave something
		return nil, fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	return kept, nil
}

// Session returns a session.
func (s *Store) Session(id string) (store.Session, error) {
	kept, err := s.keptSession(id)
	if err != nil {
		return store.Session{}, err
	}
	return kept.session()
}

// SaveSession is a run's.
func (s *Store) SaveSession(left store.Session) error {
	return s.cannot("session %q is left to by its runs", left.ID)
}

// Sessions lists all sessions.
func (s *Store) Sessions() (out []store.Session, err error) {
	var next []byte
	for {
		reply, err := s.cluster.client.ListWorkflow(s.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", sessionName), NextPageToken: next,
		})
		if err != nil {
			return nil, err
		}
		for _, info := range reply.GetExecutions() {
			one, err := s.Session(info.GetExecution().GetWorkflowId()[len(sessionPrefix):])
			if errors.Is(err, store.ErrNoSession) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		if next = reply.GetNextPageToken(); len(next) == 0 {
			slices.SortFunc(out, store.Session.Compare)
			return out, nil
		}
	}
}

// DeleteSession forgets a session.
func (s *Store) DeleteSession(id string) error {
	if _, err := s.keptSession(id); err != nil {
		return err
	}
	return s.reach(func() error { return s.cluster.client.TerminateWorkflow(s.ctx, sessionPrefix+id, "", "deleted") })
}

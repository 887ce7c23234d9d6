// Retries of requests while workers or the server are busy, lost or restarting.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// query sends a query to a workflow run, again while there are workers: they may be busy, or
// one was lost and another has to read the history first.
func (s *Store) query(runID, run, name string, reply any, args ...any) error {
	return s.retryAsking(runID, func() error {
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		value, err := s.cluster.client.QueryWorkflow(ctx, runID, run, name, args...)
		if err != nil {
			return err
		}
		return value.Get(reply)
	})
}

// longestOutage is how long a command waits for a cluster that is out of reach, or for workers
// of the right version. A server that was killed needs up to a minute to start.
const longestOutage = 2 * time.Minute

// retryAsking calls do, which a worker has to answer, again while there are workers.
func (s *Store) retryAsking(runID string, do func() error) error {
	for from := time.Now(); ; {
		err := do()
		wait := time.Second
		switch {
		case err == nil:
			s.answered.Store(time.Now().Unix())
			return nil
		case s.ctx.Err() != nil:
			return asNoRun(runID, err)
		case isUnanswered(err):
			if err := s.checkWorkers(runID, err); err != nil {
				return err
			}
			from = time.Now()
		case time.Since(from) > longestOutage:
			return asNoRun(runID, err)
		case isTransient(err): // the next one to be asked may be another
			wait = 100 * time.Millisecond
		case !isUnavailable(err):
			return asNoRun(runID, err)
		}
		if err := pause(s.ctx, wait); err != nil {
			return err
		}
	}
}

// checkWorkers returns an error if no worker can answer for a run, or none ever will because
// the cluster ended its workflow before it began.
func (s *Store) checkWorkers(runID string, cause error) error {
	info, err := s.latest(runID)
	if err != nil {
		return err
	}
	var notReady *serviceerror.WorkflowNotReady
	if errors.As(cause, &notReady) && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return fmt.Errorf("run %q was ended by the cluster before anything of it began", runID)
	}
	queue, there := info.GetTaskQueue(), false
	if err := s.reach(func() (err error) {
		there, err = s.cluster.workers(s.ctx, queue)
		return err
	}); err != nil || there || time.Since(time.Unix(s.answered.Load(), 0)) < longestOutage {
		return err
	}
	name, core, _ := strings.Cut(queue, "@")
	return fmt.Errorf("run %q can't be looked at: no worker answers for it; graphrun worker starts one (task queue %q, core version %s)",
		runID, name, core)
}

// reach calls do, again while the cluster is out of reach, for longestOutage.
func (s *Store) reach(do func() error) error {
	for from := time.Now(); ; {
		err := do()
		if err == nil || s.ctx.Err() != nil || !isUnavailable(err) && !isUnanswered(err) || time.Since(from) > longestOutage {
			return err
		}
		if err := pause(s.ctx, time.Second); err != nil {
			return err
		}
	}
}

// isUnavailable reports whether the cluster or the payload store is out of reach, or the
// cluster is overloaded: it buffers one query of a workflow at a time.
func isUnavailable(err error) bool {
	var out *serviceerror.Unavailable
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &out) || errors.As(err, &busy) || errors.Is(err, errOutOfReach)
}

// wrongVersion begins the error of a worker that can't run the version of a run and leaves it
// to others.
const wrongVersion = "this worker can't run the version of the run: "

// historyMismatch is in the error of a worker that gets a history which grew while the
// cluster read it.
const historyMismatch = "[TMPRL1100]"

// isTransient reports whether another attempt, or another worker, may succeed.
func isTransient(err error) bool {
	var failed *serviceerror.QueryFailed
	return errors.As(err, &failed) && slices.ContainsFunc([]string{wrongVersion, historyMismatch, errOutOfReach.Error()}, func(text string) bool {
		return strings.Contains(failed.Error(), text)
	})
}

// isUnanswered reports whether no worker answered in time, the one that was asked is gone, or
// the workflow task before the query failed. The caller's own context is alive.
func isUnanswered(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var gone *serviceerror.Canceled
	var notReady *serviceerror.WorkflowNotReady
	return errors.As(err, &late) || errors.As(err, &gone) || errors.As(err, &notReady) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

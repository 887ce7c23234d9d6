// Patience with workers that are busy or lost, and with a server that is.

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

// query asks a workflow run. While workers are there it is patient: they may be busy,
// or one of them was lost and another has to read the history first.
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

// longestOutage is how long a cluster may be out of reach, or only workers of another
// version may be there, before a command gives up. A server that was killed needs up to a
// minute to start.
const longestOutage = 2 * time.Minute

// retryAsking does what a worker has to answer, again if none does and some are there.
func (s *Store) retryAsking(runID string, do func() error) error {
	for from := time.Now(); ; {
		err := do()
		wait := time.Second
		switch {
		case err == nil:
			s.heard()
			return nil
		case s.ctx.Err() != nil:
			return missing(runID, err)
		case isUnanswered(err):
			if err := s.checkWorkers(runID, err); err != nil {
				return err
			}
			from = time.Now()
		case time.Since(from) > longestOutage:
			return missing(runID, err)
		case isTransient(err): // the next one to be asked may be another
			wait = 100 * time.Millisecond
		case !isUnavailable(err):
			return missing(runID, err)
		}
		if err := pause(s.ctx, wait); err != nil {
			return err
		}
	}
}

// checkWorkers is an error if no worker is there that could answer for a run, or if none ever
// will, since the cluster ended its workflow before it began.
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
	}); err != nil || there || s.answeredLately() {
		return err
	}
	name, core, _ := strings.Cut(queue, "@")
	return fmt.Errorf("run %q can't be looked at: no worker answers for it; graphrun worker starts one (task queue %q, core version %s)",
		runID, name, core)
}

// heard notes that a worker has answered.
func (s *Store) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = time.Now()
}

// answeredLately reports whether a worker has answered before an outage could have begun.
func (s *Store) answeredLately() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.answered) < longestOutage
}

// reach asks the cluster, again while it is out of reach, for as long as an outage may be.
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

// isUnavailable reports whether an error says that the cluster or the payload store is out of
// reach, or that the cluster has too much to do: it holds back one question to a workflow
// at a time while that is at work.
func isUnavailable(err error) bool {
	var out *serviceerror.Unavailable
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &out) || errors.As(err, &busy) || errors.Is(err, errOutOfReach)
}

// wrongVersion begins what a worker says that can't run the version of a run: it leaves it
// to others.
const wrongVersion = "this worker can't run the version of the run: "

// historyMismatch is what a worker says that gets more of a history than belongs to what it is
// asked: the run has gone on while the cluster put that together.
const historyMismatch = "[TMPRL1100]"

// isTransient reports whether an error says that another time, or another worker, will do.
func isTransient(err error) bool {
	var failed *serviceerror.QueryFailed
	return errors.As(err, &failed) && slices.ContainsFunc([]string{wrongVersion, historyMismatch, errOutOfReach.Error()}, func(text string) bool {
		return strings.Contains(failed.Error(), text)
	})
}

// isUnanswered reports whether an error says that no worker has answered in time, that
// the one that was asked is gone, or that what was asked waits for one to do well what
// another one failed in. The caller has found its own context alive.
func isUnanswered(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var gone *serviceerror.Canceled
	var notReady *serviceerror.WorkflowNotReady
	return errors.As(err, &late) || errors.As(err, &gone) || errors.As(err, &notReady) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Connections to a cluster, and retries while it or its workers are unreachable or busy.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"

	"github.com/graphrun/graphrun/internal/cli"
)

// Cluster is a connection to a Temporal cluster and its payload store: a [cli.Engine].
type Cluster struct {
	client    client.Client
	converter converter.DataConverter
	settings  cli.EngineSettings
	core      int // version of workers and new runs
	blobs     blobs
}

// Dial connects to a cluster. Without settings, it connects to a server on this machine without TLS.
func Dial(s cli.EngineSettings) (*Cluster, error) {
	s.Address = cmp.Or(s.Address, client.DefaultHostPort)
	s.Namespace = cmp.Or(s.Namespace, client.DefaultNamespace)
	s.TaskQueue = cmp.Or(s.TaskQueue, "graphrun")
	dir, _ := os.UserCacheDir()
	s.Payloads = cmp.Or(s.Payloads, filepath.Join(cmp.Or(dir, os.TempDir()), "graphrun", "temporal"))
	profile := envconfig.ClientConfigProfile{Address: s.Address, Namespace: s.Namespace, APIKey: s.APIKey}
	if s.TLS || s.Cert != "" || s.Key != "" || s.CA != "" || s.ServerName != "" {
		profile.TLS = &envconfig.ClientConfigTLS{ClientCertPath: s.Cert, ClientKeyPath: s.Key, ServerCACertPath: s.CA, ServerName: s.ServerName}
	}
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return nil, err
	}
	kept, err := openBlobs(s.Payloads)
	if err != nil {
		return nil, fmt.Errorf("payload store: %w", err)
	}
	options.DataConverter, options.ConnectionOptions.GetSystemInfoTimeout = newConverter(kept), 10*time.Second
	options.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	c, err := client.Dial(options)
	if err != nil {
		return nil, fmt.Errorf("no Temporal cluster at %s (namespace %s): %w", s.Address, s.Namespace, err)
	}
	return &Cluster{client: c, converter: options.DataConverter, settings: s, core: coreVersion, blobs: kept}, nil
}

// Close closes the connection.
func (c *Cluster) Close() { c.client.Close() }

// coreQueue returns the task queue of a core version. Only workers of that version serve it.
func coreQueue(queue string, core int) string { return fmt.Sprintf("%s@%d", queue, core) }

// sessionQueue returns the task queue of sessions and groups, which workers of every version serve.
func sessionQueue(queue string) string { return queue + "@sessions" }

// updateOrStart updates the workflow of a session or a group, or starts it. An update with the
// same id takes effect once.
func (c *Cluster) updateOrStart(ctx context.Context, workflow, workflowID, update, id string, arg, reply any) error {
	start := c.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflowID, TaskQueue: sessionQueue(c.settings.TaskQueue), StaticSummary: workflowID,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, workflow, nil)
	handle, err := c.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: id, UpdateName: update, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, reply)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// longestOutage is how long a command waits for the cluster, or for workers of the right version.
// A killed server needs up to a minute to start.
const longestOutage = 2 * time.Minute

// maxPollAge is the greatest age of the latest poll of a live worker. A poll takes up to a minute.
const maxPollAge = 90 * time.Second

func (s *Store) queryRun(runID, run, name string, reply any, args ...any) error {
	return s.retryRequest(runID, func() error {
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		value, err := s.cluster.client.QueryWorkflow(ctx, runID, run, name, args...)
		if err != nil {
			return err
		}
		return value.Get(reply)
	})
}

// retryRequest repeats a request until a worker answers it, as long as there are workers.
func (s *Store) retryRequest(runID string, do func() error) error {
	err := s.retryUntil(do, func(err error) error { return s.checkWorkers(runID, err) })
	if err == nil {
		s.answered.Store(time.Now().Unix())
	}
	return convertNotFound(runID, err)
}

// retryConnecting repeats do while the cluster is out of reach.
func (s *Store) retryConnecting(do func() error) error { return s.retryUntil(do, nil) }

// retryUntil repeats do for longestOutage while the cluster or a worker may be at fault. check
// returns an error if no worker will ever answer. While workers are busy, the time does not count.
func (s *Store) retryUntil(do func() error, check func(error) error) error {
	for from := time.Now(); ; {
		err := do()
		if err == nil || s.ctx.Err() != nil || time.Since(from) > longestOutage {
			return err
		}
		wait := time.Second
		switch {
		case isUnanswered(err) && check != nil:
			if err := check(err); err != nil {
				return err
			}
			from = time.Now()
		case isTransient(err): // another worker may be asked next
			wait = 100 * time.Millisecond
		case !isUnanswered(err) && !isUnavailable(err):
			return err
		}
		if err := sleep(s.ctx, wait); err != nil {
			return err
		}
	}
}

// checkWorkers returns an error if no worker can answer for a run, or none ever will because its
// workflow ended before it began.
func (s *Store) checkWorkers(runID string, cause error) error {
	info, err := s.findLatestWorkflow(runID)
	if err != nil {
		return err
	}
	var notReady *serviceerror.WorkflowNotReady
	if errors.As(cause, &notReady) && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return fmt.Errorf("run %q was ended by the cluster before anything of it began", runID)
	}
	var reply *workflowservice.DescribeTaskQueueResponse
	queue := info.GetTaskQueue()
	err = s.retryConnecting(func() (err error) {
		reply, err = s.cluster.client.DescribeTaskQueue(s.ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		return err
	})
	hasWorkers := slices.ContainsFunc(reply.GetPollers(), func(p *taskqueue.PollerInfo) bool {
		return time.Since(p.GetLastAccessTime().AsTime()) < maxPollAge
	})
	if err != nil || hasWorkers || time.Since(time.Unix(s.answered.Load(), 0)) < longestOutage {
		return err
	}
	name, core, _ := strings.Cut(queue, "@")
	return fmt.Errorf("run %q can't be looked at: no worker answers for it; graphrun worker starts one (task queue %q, core version %s)",
		runID, name, core)
}

// isUnavailable reports whether the cluster or the payload store is out of reach or overloaded.
func isUnavailable(err error) bool {
	return hasType[*serviceerror.Unavailable](err) || hasType[*serviceerror.ResourceExhausted](err) || errors.Is(err, errOutOfReach)
}

// hasType reports whether an error in the chain of err has type E.
func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// wrongVersion begins the error of a worker that can't run the version of a run.
const wrongVersion = "this worker can't run the version of the run: "

// historyMismatch is in the error of a worker whose history grew while it read it.
const historyMismatch = "[TMPRL1100]"

// isTransient reports whether a query failed for a reason that another worker may not have.
func isTransient(err error) bool {
	text := fmt.Sprint(err)
	return hasType[*serviceerror.QueryFailed](err) &&
		(strings.Contains(text, wrongVersion) || strings.Contains(text, historyMismatch) || strings.Contains(text, errOutOfReach.Error()))
}

// isUnanswered reports whether no worker answered in time, or the one that was asked is gone. The
// caller's own context must be alive.
func isUnanswered(err error) bool {
	return hasType[*serviceerror.DeadlineExceeded](err) || hasType[*serviceerror.Canceled](err) || hasType[*serviceerror.WorkflowNotReady](err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

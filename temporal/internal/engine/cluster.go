// Connections to a cluster.

package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
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

// Dial connects to a cluster. Without settings, it is a server on this machine without TLS.
func Dial(s cli.EngineSettings) (*Cluster, error) {
	s.Address = cmp.Or(s.Address, client.DefaultHostPort)
	s.Namespace = cmp.Or(s.Namespace, client.DefaultNamespace)
	s.TaskQueue = cmp.Or(s.TaskQueue, "graphrun")
	if s.Payloads == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		s.Payloads = filepath.Join(dir, "graphrun", "temporal")
	}
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

// coreQueue returns the task queue of a core version, whose workers alone serve it.
func coreQueue(queue string, core int) string { return fmt.Sprintf("%s@%d", queue, core) }

// keeperQueue returns the task queue of sessions and groups, for workers of every version.
func keeperQueue(queue string) string { return queue + "@sessions" }

// updateKeeper updates the workflow of a session or a group, or starts it. An update with the
// same id takes effect once.
func (c *Cluster) updateKeeper(ctx context.Context, workflow, workflowID, update, id string, arg, reply any) error {
	start := c.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflowID, TaskQueue: keeperQueue(c.settings.TaskQueue), StaticSummary: workflowID,
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

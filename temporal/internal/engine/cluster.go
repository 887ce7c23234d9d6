// Connections to a cluster.

package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
)

// Options say where the cluster is. The zero value is a server on this machine
// without TLS.
type Options struct {
	// Address is host:port of the frontend; empty: 127.0.0.1:7233.
	Address string
	// Namespace is that of the runs; empty: default.
	Namespace string
	// Queue is the task queue of new runs; empty: graphrun.
	Queue string
	// APIKey authenticates; empty: none is sent. With one TLS is on.
	APIKey string
	// TLS, or a name of one of the files, turns TLS on: of the client's certificate and
	// its key, and of the authority that signed the server's.
	TLS           bool
	Cert, Key, CA string
	ServerName    string
	// Payloads is the folder in which large values and logs are kept, or the bucket:
	// s3://BUCKET/PREFIX?endpoint=URL&region=NAME. All workers and clients share it.
	// Empty: graphrun/temporal below the user's cache.
	Payloads string
	// Identity names this program in histories; empty: by its process and machine.
	Identity string
	// Logger gets the messages of the SDK; nil: errors go to stderr.
	Logger *slog.Logger

	core int // version of the core, of workers and new runs; 0: coreVersion
}

// Cluster is a connection to a Temporal cluster.
type Cluster struct {
	client    client.Client
	converter converter.DataConverter
	options   Options
	blobs     blobs
}

// Dial connects to a cluster and its payload store.
func Dial(o Options) (*Cluster, error) {
	if o.Address == "" {
		o.Address = client.DefaultHostPort
	}
	if o.core == 0 {
		o.core = coreVersion
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	if o.Payloads == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		o.Payloads = filepath.Join(dir, "graphrun", "temporal")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	security, err := o.tls()
	if err != nil {
		return nil, err
	}
	kept, err := openBlobs(o.Payloads)
	if err != nil {
		return nil, fmt.Errorf("payload store: %w", err)
	}
	conv := newConverter(kept)
	options := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Identity: o.Identity, DataConverter: conv, Logger: log.NewStructuredLogger(o.Logger),
		ConnectionOptions: client.ConnectionOptions{TLS: security, GetSystemInfoTimeout: 10 * time.Second},
	}
	if o.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	c, err := client.Dial(options)
	if err != nil {
		return nil, fmt.Errorf("no Temporal cluster at %s (namespace %s): %w", o.Address, o.Namespace, err)
	}
	return &Cluster{client: c, converter: conv, options: o, blobs: kept}, nil
}

// Close ends the connection.
func (c *Cluster) Close() { c.client.Close() }

// queue returns the name of a task queue, or the default.
func (c *Cluster) queue(name string) string {
	switch {
	case name != "":
		return name
	case c.options.Queue != "":
		return c.options.Queue
	}
	return "graphrun"
}

// ofCore returns the task queue of the runs of a core version. Workers of other versions do
// not see them.
func ofCore(queue string, core int) string { return fmt.Sprintf("%s@%d", queue, core) }

// workers reports whether a worker polls a task queue.
func (c *Cluster) workers(ctx context.Context, queue string) (bool, error) {
	reply, err := c.client.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(reply.GetPollers(), func(p *taskqueue.PollerInfo) bool {
		return time.Since(p.GetLastAccessTime().AsTime()) < lastPoll
	}), nil
}

// lastPoll is the age of the latest poll of a live worker: a poll takes a minute at most.
const lastPoll = 90 * time.Second

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *Options) tls() (*tls.Config, error) {
	if !o.TLS && o.Cert == "" && o.CA == "" && o.ServerName == "" && o.APIKey == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	if (o.Cert == "") != (o.Key == "") {
		return nil, fmt.Errorf("the certificate of the client and its key go together")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", o.CA)
		}
	}
	return out, nil
}

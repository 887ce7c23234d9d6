// Command graphrun-temporal is graphrun with the engine for Temporal clusters.
package main

import (
	"context"
	"os"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

func main() {
	program := cli.System()
	program.Engine = newEngine
	os.Exit(cli.Main(context.Background(), program))
}

// cluster is the engine as the command line has it.
type cluster struct{ *engine.Cluster }

func newEngine(s cli.EngineSettings) (cli.Engine, error) {
	c, err := engine.Dial(engine.Options{
		Address: s.Address, Namespace: s.Namespace, Queue: s.TaskQueue, TLS: s.TLS, Cert: s.Cert, Key: s.Key, CA: s.CA,
		ServerName: s.ServerName, APIKey: s.APIKey, Payloads: s.Payloads,
	})
	return cluster{c}, err
}

// Store reads the runs of the cluster.
func (c cluster) Store(ctx context.Context) cli.ClusterStore { return c.Cluster.Store(ctx) }

// Work runs a worker until ctx ends.
func (c cluster) Work(ctx context.Context, o cli.WorkSettings) error {
	return c.Cluster.Work(ctx, engine.WorkerOptions{
		Nodes: o.Queues, MaxTasks: o.MaxTasks, MaxWorkflowTasks: o.MaxRuns, Heartbeat: o.Heartbeat, Ready: o.Ready,
	})
}

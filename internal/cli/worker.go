// The worker command: run graphs for a cluster.

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newWorkerCommand(a *app) *cobra.Command {
	var o WorkSettings
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run graphs for a Temporal cluster",
		Long: `worker executes runs and tasks of a Temporal cluster until it is interrupted; other
workers then continue its work. Any number of workers on any number of machines share the
work; graphrun run --engine temporal starts runs. With --queue a worker only takes the
tasks of nodes with queue: NAME.

These flags say where the cluster is: --temporal-address HOST:PORT (127.0.0.1:7233),
--temporal-namespace NAME (default), --temporal-task-queue NAME (graphrun), --temporal-tls,
--temporal-cert, --temporal-key and --temporal-ca FILE, --temporal-server-name NAME. The
API key comes from GRAPHRUN_TEMPORAL_API_KEY. In graphrun.yaml they are keys of temporal.
--temporal-payloads names the folder or bucket for large values and logs, which all
workers and clients share.

graphrun runs this command with the program graphrun-temporal, which it finds beside
itself or in PATH.`,
		Example: "  graphrun worker --temporal-address temporal.example.org:7233\n  graphrun worker --queue gpu --max-tasks 1",
		Args:    noArgs,
		PreRunE: a.loadSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Engine == nil {
				return a.handOver()
			}
			if o.MaxTasks < 0 || o.MaxRuns < 0 {
				return usagef("--max-tasks and --max-runs must be at least 0")
			}
			engine, err := a.Engine(a.engine.settings)
			if err != nil {
				return err
			}
			o.Ready = func(queue string) { fmt.Fprintf(a.Stderr, "graphrun: worker takes tasks of queue %s\n", queue) }
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			signals := a.signals()
			defer signals.stop()
			go func() {
				select {
				case <-signals.c:
					cancel()
				case <-ctx.Done():
				}
			}()
			return engine.Work(ctx, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Queues, "queue", nil, "take only the tasks of nodes with queue: NAME; repeatable")
	flags.IntVar(&o.MaxTasks, "max-tasks", 0, "most tasks to run at once (default: 1000)")
	flags.IntVar(&o.MaxRuns, "max-runs", 0, "most runs to drive at once (default: 1000)")
	flags.DurationVar(&o.Heartbeat, "heartbeat", 0, "how long the worker may be silent before other workers run its tasks (default: 10s)")
	for _, name := range []string{"queue", "max-tasks", "max-runs", "heartbeat"} {
		complete(cmd, name, nil)
	}
	return cmd
}

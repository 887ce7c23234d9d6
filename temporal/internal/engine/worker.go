// Workers: they run workflows and the handlers of nodes.

package engine

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// Worker has the workflows and activities of graphs.
type Worker struct {
	client    client.Client
	converter converter.DataConverter
	heartbeat time.Duration
	events    int // see WorkerOptions.MaxEvents
	core      int // see Options.core
	flows     cache[*runner.Flow]
	tapes     cache[*cassette.Cassette]
	handlers  map[string]runner.Handler
	decider   runner.Decider
	blobs     blobs
	scope     handler.Scope // of what all tasks share
	atWork    atomic.Int64  // tasks
}

// WorkerOptions configure a worker. The zero value takes everything from the usual
// task queue.
type WorkerOptions struct {
	// Queue is the task queue of runs.
	Queue string
	// Nodes are the queues of nodes (`queue: NAME`) that the worker takes tasks of;
	// none: it drives runs and takes the tasks of nodes that name no queue.
	Nodes []string
	// MaxTasks is how many tasks run at once; 0: 1,000.
	MaxTasks int
	// MaxWorkflowTasks is how many runs are driven at once; 0: as many as usual.
	MaxWorkflowTasks int
	// Heartbeat is how long a worker may be silent before its tasks run elsewhere;
	// 0: 10 seconds.
	Heartbeat time.Duration
	// MaxEvents is the length of a history from which on its run moves to a new
	// workflow; 0: 10,000.
	MaxEvents int
	// Ready is told of every queue that the worker takes tasks of; nil: nobody is.
	Ready func(queue string)
}

// Work runs a worker until ctx ends.
func (c *Cluster) Work(ctx context.Context, o WorkerOptions) error {
	stop, err := c.StartWorker(o)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	c.Close()
	return nil
}

// StartWorker starts a worker; stop lets what runs have some seconds and ends them.
func (c *Cluster) StartWorker(o WorkerOptions) (stop func(), err error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = 10 * time.Second
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = maxEvents
	}
	kinds := node.Options{}
	w := &Worker{
		client: c.client, converter: c.converter, heartbeat: o.Heartbeat, events: o.MaxEvents, core: c.options.core, blobs: c.blobs,
		handlers: map[string]runner.Handler{}, decider: node.NewDecider(kinds),
	}
	for _, kind := range node.Kinds(kinds) {
		w.handlers[kind.Spec.Name] = kind.Handler
	}
	options := worker.Options{
		MaxConcurrentActivityExecutionSize: o.MaxTasks, MaxConcurrentWorkflowTaskExecutionSize: o.MaxWorkflowTasks,
		// A step with a large state may take longer than a second on a busy machine.
		DeadlockDetectionTimeout: 15 * time.Second,
		WorkerStopTimeout:        5 * time.Second,
		// As many ask for work as there is work: two by themselves fetch a task each
		// time the network has gone to and fro.
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	}
	var queues []string
	for _, name := range o.Nodes {
		queues = append(queues, c.queue(o.Queue)+"-"+name)
	}
	if len(queues) == 0 {
		queues = []string{c.queue(o.Queue)}
	}
	var started []worker.Worker
	stop = func() {
		for _, one := range started {
			one.Stop()
		}
		w.scope.Close()
	}
	if len(o.Nodes) == 0 {
		one := worker.New(c.client, sessionQueue(queues[0]), worker.Options{
			LocalActivityWorkerOnly: true, DeadlockDetectionTimeout: options.DeadlockDetectionTimeout,
		})
		w.registerKeepers(one)
		if err := one.Start(); err != nil {
			return nil, err
		}
		started = append(started, one)
	}
	for _, name := range queues {
		queue := name
		if len(o.Nodes) == 0 {
			queue = ofCore(name, w.core)
		}
		options.DisableWorkflowWorker = len(o.Nodes) > 0
		one := worker.New(c.client, queue, options)
		if len(o.Nodes) == 0 {
			w.register(one)
		}
		one.RegisterActivityWithOptions(w.Task, activity.RegisterOptions{Name: taskName})
		one.RegisterActivityWithOptions(w.Leave, activity.RegisterOptions{Name: leaveName})
		one.RegisterActivityWithOptions(w.Enter, activity.RegisterOptions{Name: enterName})
		if err := one.Start(); err != nil {
			stop()
			return nil, err
		}
		started = append(started, one)
		if o.Ready != nil {
			o.Ready(name)
		}
	}
	return stop, nil
}

// registerKeepers registers the workflows of what several runs share.
func (w *Worker) registerKeepers(with worker.WorkflowRegistry) {
	with.RegisterWorkflowWithOptions(w.Session, workflow.RegisterOptions{Name: sessionName})
	with.RegisterWorkflowWithOptions(w.Group, workflow.RegisterOptions{Name: groupName})
}

// register registers the workflows of runs.
func (w *Worker) register(with worker.WorkflowRegistry) {
	with.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: workflowName})
}

// Workers, which run workflows and the handlers of nodes.

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
	// Ready is called with every queue that the worker takes tasks of.
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

// StartWorker starts a worker. stop ends it, and gives running tasks some seconds.
func (c *Cluster) StartWorker(o WorkerOptions) (stop func(), err error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = 10 * time.Second
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = maxEvents
	}
	w := &Worker{
		client: c.client, converter: c.converter, heartbeat: o.Heartbeat, events: o.MaxEvents, core: c.options.core, blobs: c.blobs,
	}
	w.handlers, w.decider = handlersOf(node.Options{})
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
	queue := c.queue(o.Queue)
	ready := []string{queue}
	var started []worker.Worker
	stop = func() {
		for _, one := range started {
			one.Stop()
		}
		w.scope.Close()
	}
	start := func(queue string, options worker.Options, register func(worker.Worker)) {
		one := worker.New(c.client, queue, options)
		register(one)
		if err == nil {
			err = one.Start()
		}
		if err == nil {
			started = append(started, one)
		}
	}
	if len(o.Nodes) == 0 {
		keepers := worker.Options{LocalActivityWorkerOnly: true, DeadlockDetectionTimeout: options.DeadlockDetectionTimeout}
		start(sessionQueue(queue), keepers, func(one worker.Worker) { w.registerKeepers(one) })
		start(ofCore(queue, w.core), options, func(one worker.Worker) {
			w.register(one)
			w.registerActivities(one)
		})
	} else {
		ready = nil
	}
	options.DisableWorkflowWorker = true
	for _, name := range o.Nodes {
		start(queue+"-"+name, options, w.registerActivities)
		ready = append(ready, queue+"-"+name)
	}
	if err != nil {
		stop()
		return nil, err
	}
	for _, name := range ready {
		if o.Ready != nil {
			o.Ready(name)
		}
	}
	return stop, nil
}

// handlersOf returns the handlers of nodes by kind, and the decider.
func handlersOf(o node.Options) (map[string]runner.Handler, runner.Decider) {
	out := map[string]runner.Handler{}
	for _, kind := range node.Kinds(o) {
		out[kind.Spec.Name] = kind.Handler
	}
	return out, node.NewDecider(o)
}

// registerActivities registers the activities of runs.
func (w *Worker) registerActivities(with worker.Worker) {
	with.RegisterActivityWithOptions(w.Task, activity.RegisterOptions{Name: taskName})
	with.RegisterActivityWithOptions(w.Leave, activity.RegisterOptions{Name: leaveName})
	with.RegisterActivityWithOptions(w.Enter, activity.RegisterOptions{Name: enterName})
}

// registerKeepers registers the workflows of sessions and groups.
func (w *Worker) registerKeepers(with worker.WorkflowRegistry) {
	with.RegisterWorkflowWithOptions(w.Session, workflow.RegisterOptions{Name: sessionName})
	with.RegisterWorkflowWithOptions(w.Group, workflow.RegisterOptions{Name: groupName})
}

// register registers the workflows of runs.
func (w *Worker) register(with worker.WorkflowRegistry) {
	with.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: workflowName})
}

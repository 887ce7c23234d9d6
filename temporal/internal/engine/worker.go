// Workers, which run workflows and the handlers of nodes.

package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
)

// Worker provides the workflows and activities of graphs.
type Worker struct {
	*Cluster
	heartbeat time.Duration
	events    int // see maxEvents
	flows     cache[*runner.Flow]
	handlers  map[string]runner.Handler
	decider   runner.Decider
	scope     handler.Scope // shared by all tasks
	running   atomic.Int64  // tasks
}

// Work runs a worker until ctx ends. Running tasks then have some seconds to end.
func (c *Cluster) Work(ctx context.Context, o cli.WorkSettings) error {
	stop, err := c.startWorker(&o, maxEvents)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	c.Close()
	return nil
}

// startWorker starts a worker whose runs move to a new workflow after that many events.
func (c *Cluster) startWorker(o *cli.WorkSettings, events int) (stop func(), err error) {
	w := &Worker{Cluster: c, heartbeat: cmp.Or(o.Heartbeat, 10*time.Second), events: events}
	w.handlers, w.decider = newHandlers(node.Options{})
	var started []worker.Worker
	stop = func() {
		for _, one := range started {
			one.Stop()
		}
		w.scope.Close()
	}
	start := func(queue string, options worker.Options) {
		one := worker.New(c.client, queue, options)
		one.RegisterActivityWithOptions(w.Task, activity.RegisterOptions{Name: taskName})
		one.RegisterActivityWithOptions(w.UpdateSession, activity.RegisterOptions{Name: updateSessionName})
		one.RegisterActivityWithOptions(w.Enter, activity.RegisterOptions{Name: enterName})
		if !options.DisableWorkflowWorker {
			w.registerWorkflows(one)
		}
		if err == nil {
			err = one.Start()
			started = append(started, one)
		}
	}
	// A fixed number of pollers would fetch at most that many tasks per round trip. A queue has four
	// partitions, and a task in one without a poller is 10 ms late.
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 8, MinimumNumberOfPollers: 8})
	options := worker.Options{
		MaxConcurrentActivityExecutionSize: o.MaxTasks, MaxConcurrentWorkflowTaskExecutionSize: o.MaxRuns,
		// A step with a large state may take longer than a second on a busy machine.
		DeadlockDetectionTimeout:   15 * time.Second,
		WorkerStopTimeout:          5 * time.Second,
		ActivityTaskPollerBehavior: pollers, WorkflowTaskPollerBehavior: pollers,
	}
	queue := c.settings.TaskQueue
	var ready []string
	if len(o.Queues) == 0 {
		ready = []string{queue}
		start(sessionQueue(queue), worker.Options{LocalActivityWorkerOnly: true, DeadlockDetectionTimeout: options.DeadlockDetectionTimeout})
		start(coreQueue(queue, c.core), options)
	}
	options.DisableWorkflowWorker = true
	for _, name := range o.Queues {
		ready = append(ready, nodeQueue(queue, name))
		start(nodeQueue(queue, name), options)
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

// nodeQueue returns the task queue of nodes that name a queue.
func nodeQueue(queue, name string) string { return queue + "-" + name }

// newHandlers returns the handlers of nodes by kind, and the decider.
func newHandlers(o node.Options) (map[string]runner.Handler, runner.Decider) {
	out := map[string]runner.Handler{}
	for _, kind := range node.Kinds(o) {
		out[kind.Spec.Name] = kind.Handler
	}
	return out, node.NewDecider(o)
}

func (w *Worker) registerWorkflows(with worker.WorkflowRegistry) {
	with.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: workflowName})
	with.RegisterWorkflowWithOptions(w.Session, workflow.RegisterOptions{Name: sessionName})
	with.RegisterWorkflowWithOptions(w.Group, workflow.RegisterOptions{Name: groupName})
}

// sendHeartbeats sends heartbeats of a task until stop is called: every second, so that a
// cancellation arrives soon, or less often for many tasks. The SDK would end a task after a late
// reply; here only the cluster ends it, and the cause of alive is a *temporal.CanceledError.
func (w *Worker) sendHeartbeats(ctx context.Context, token []byte) (alive context.Context, stop func()) {
	w.running.Add(1)
	alive, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			every := min(max(time.Second, time.Duration(w.running.Load())*10*time.Millisecond), w.heartbeat*2/5)
			if sleep(alive, every) != nil {
				return
			}
			callCtx, cancelCall := context.WithTimeout(alive, w.heartbeat*4/5)
			err := w.client.RecordActivityHeartbeat(callCtx, token)
			cancelCall()
			if hasType[*temporal.CanceledError](err) || hasType[*serviceerror.NotFound](err) || hasType[*serviceerror.NamespaceNotFound](err) {
				cancel(err)
				return
			}
		}
	}()
	return alive, func() {
		cancel(nil)
		w.running.Add(-1)
	}
}

func newRunner(cfg runner.Config) (*runner.Runner, error) {
	cfg.Kinds, cfg.Decider = node.Kinds(node.Options{}), node.NewDecider(node.Options{})
	return runner.New(cfg)
}

// newFlowRunner returns the flow of a run, and a runner that reads the stored texts of the run.
func newFlowRunner(record *store.RunRecord, cfg runner.Config) (*runner.Runner, *runner.Flow, error) {
	run := *record
	cfg.Load = run.Load
	r, err := newRunner(cfg)
	if err != nil {
		return nil, nil, err
	}
	flow, err := r.PrepareRecord(&run)
	return r, flow, err
}

// computeDigest returns a digest of the texts of a run.
func computeDigest(record *store.RunRecord) string {
	sum := sha256.New()
	add := func(name string, text []byte) {
		fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(text))
		sum.Write(text)
	}
	add(record.File, record.Source)
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		add(name, record.Files[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// maxKept bounds how many values a cache keeps.
const maxKept = 64

// cache keeps values by digest.
type cache[T any] struct {
	mu       sync.Mutex
	byDigest map[string]T
}

// getOrRead returns the cached value, or reads it and caches it.
func (c *cache[T]) getOrRead(digest string, read func() (T, error)) (T, error) {
	c.mu.Lock()
	kept, ok := c.byDigest[digest]
	c.mu.Unlock()
	if ok {
		return kept, nil
	}
	kept, err := read()
	if err != nil {
		return kept, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byDigest == nil || len(c.byDigest) >= maxKept {
		c.byDigest = map[string]T{}
	}
	c.byDigest[digest] = kept
	return kept, nil
}

// loadFlow returns the flow of a task. It reads it from the input of the workflow.
func (w *Worker) loadFlow(ctx context.Context, in *taskInput) (*runner.Flow, error) {
	return w.flows.getOrRead(in.Flow, func() (*runner.Flow, error) {
		at := currentWorkflow(ctx)
		start, err := readStart(ctx, w.client, w.converter, at.ID, at.RunID)
		if err != nil {
			return nil, err
		}
		if got := computeDigest(&start.Record); got != in.Flow {
			return nil, fmt.Errorf("the flow has digest %s, the task wants %s", got, in.Flow)
		}
		_, flow, err := newFlowRunner(&start.Record, runner.Config{})
		return flow, err
	})
}

// readStart reads the input of a workflow, without its snapshot and journal.
func readStart(ctx context.Context, c client.Client, conv converter.DataConverter, id, run string) (*Start, error) {
	history := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !history.HasNext() {
		return nil, fmt.Errorf("run %q: %w", id, store.ErrNoRun)
	}
	first, err := history.Next()
	if err != nil {
		return nil, err
	}
	var start Start
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := conv.FromPayload(input.GetPayloads()[0], &start); err != nil { // the other arguments are large
		return nil, err
	}
	return &start, nil
}

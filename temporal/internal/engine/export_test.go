package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historyapi "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// ReplayRun replays the histories of a run.
func (c *Cluster) ReplayRun(ctx context.Context, runID string) error {
	return c.ReplayMoved(ctx, runID, maxEvents)
}

// ReplayMoved replays the histories of a run whose workflows could have so many events.
func (c *Cluster) ReplayMoved(ctx context.Context, runID string, events int) error {
	histories, err := c.histories(ctx, runID)
	for _, history := range histories {
		err = errors.Join(err, replayHistory(c, history, events))
	}
	return err
}

// histories returns the histories of the workflows of a run, the last one first.
func (c *Cluster) histories(ctx context.Context, runID string) (all []*historyapi.History, err error) {
	for at, more := "", true; more; more = at != "" {
		history := &historyapi.History{}
		events := c.client.GetWorkflowHistory(ctx, runID, at, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return nil, err
			}
			history.Events = append(history.Events, event)
		}
		all = append(all, history)
		at = history.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
	}
	return all, nil
}

// Size is the size of the history of a workflow.
type Size struct {
	Open   bool
	Events int
}

// Sizes returns the sizes of the workflows of a run.
func (c *Cluster) Sizes(ctx context.Context, runID string) (all []Size, err error) {
	histories, err := c.histories(ctx, runID)
	for _, history := range histories {
		last := history.Events[len(history.Events)-1].GetEventType()
		all = append(all, Size{
			Open:   last != enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED && last != enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
			Events: len(history.Events),
		})
	}
	return all, err
}

func replayHistory(c *Cluster, history *historyapi.History, events int) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: c.converter})
	if err != nil {
		return err
	}
	w := &Worker{Cluster: &Cluster{core: coreVersion, converter: c.converter, blobs: c.blobs}, heartbeat: 10 * time.Second, events: events}
	w.registerWorkflows(replayer)
	return replayer.ReplayWorkflowHistory(nil, history)
}

// Terminate ends the workflow of a run from outside.
func (c *Cluster) Terminate(ctx context.Context, runID string) error {
	return c.client.TerminateWorkflow(ctx, runID, "", "a test")
}

// GroupID returns the id of the workflow of a group.
func GroupID(name string) string { return groupID(name) }

// Texts returns the current texts of a run's events after the first n.
func (c *Cluster) Texts(ctx context.Context, runID string, n int) (out []string, err error) {
	texts, err := c.Store(ctx).(*Store).eventsAfter(runID, n, allBytes)
	for _, text := range texts {
		out = append(out, string(text))
	}
	return out, err
}

// NewConverter returns a converter that stores large values in the given payload store.
func NewConverter(payloads string) (converter.DataConverter, error) {
	b, err := openBlobs(payloads)
	if err != nil {
		return nil, err
	}
	return newConverter(b), nil
}

// Options hold the address of a test's cluster.
type Options struct {
	Address, Queue, Payloads, APIKey string
	TLS                              bool
	Cert, Key, CA, ServerName        string
	core                             int
}

// OfCore returns the options of a build with another version of the core.
func (o Options) OfCore(version int) Options {
	o.core = version
	return o
}

// Dial connects to the cluster.
func (o Options) Dial() (*Cluster, error) {
	c, err := Dial(cli.EngineSettings{
		Address: o.Address, TaskQueue: o.Queue, Payloads: o.Payloads, APIKey: o.APIKey,
		TLS: o.TLS, Cert: o.Cert, Key: o.Key, CA: o.CA, ServerName: o.ServerName,
	})
	if err == nil && o.core != 0 {
		c.core = o.core
	}
	return c, err
}

// WorkerOptions are the options of a test's worker.
type WorkerOptions struct {
	Queue     string
	Nodes     []string
	Heartbeat time.Duration
	MaxEvents int
}

// StartWorker starts a worker.
func (c *Cluster) StartWorker(o WorkerOptions) (stop func(), err error) {
	own := *c
	own.settings.TaskQueue = cmp.Or(o.Queue, c.settings.TaskQueue)
	return own.startWorker(&cli.WorkSettings{Queues: o.Nodes, Heartbeat: o.Heartbeat}, cmp.Or(o.MaxEvents, maxEvents))
}

// RunAlone runs a flow that nobody follows.
func (c *Cluster) RunAlone(ctx context.Context, runID, source string) error {
	start := &Start{
		Core:   c.core,
		Record: store.RunRecord{ID: runID, File: "/flow.yaml", Source: []byte(source), Started: time.Now()},
		Queue:  c.settings.TaskQueue, RunDir: "/", Nonce: "00", Settings: runner.Options{Dir: "/"},
	}
	if err := c.Store(ctx).(*Store).startWorkflow(start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return err
	}
	return c.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
}

// CancelWorkflow asks the cluster to cancel the workflow of a run.
func (c *Cluster) CancelWorkflow(ctx context.Context, runID string) error {
	return c.client.CancelWorkflow(ctx, runID, "")
}

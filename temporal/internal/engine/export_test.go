package engine

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historyapi "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// ReplayRun replays the histories of a run.
func (c *Cluster) ReplayRun(ctx context.Context, runID string) error {
	var histories []*historyapi.History
	for run := ""; ; {
		history := &historyapi.History{}
		events := c.client.GetWorkflowHistory(ctx, runID, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			history.Events = append(history.Events, event)
		}
		histories = append(histories, history)
		if run = history.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			break
		}
	}
	var all error
	for _, history := range histories {
		all = errors.Join(all, replayHistory(c.converter, history))
	}
	return all
}

func replayHistory(conv converter.DataConverter, history *historyapi.History) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: conv})
	if err != nil {
		return err
	}
	w := &Worker{core: coreVersion, converter: conv, heartbeat: 10 * time.Second, events: mostEvents, handlers: map[string]runner.Handler{}, decider: node.NewDecider(node.Options{})}
	replayer.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: workflowName})
	return replayer.ReplayWorkflowHistory(nil, history)
}

// Texts are the texts of a run's events after the first n, as they are now.
func (s *Store) Texts(runID string, n int) (out []string, err error) {
	texts, err := s.after(runID, n, allBytes)
	for _, text := range texts {
		out = append(out, string(text))
	}
	return out, err
}

// NewConverter is the converter whose large values are kept where a setting says.
func NewConverter(payloads string) (converter.DataConverter, error) {
	b, err := openBlobs(payloads)
	if err != nil {
		return nil, err
	}
	return newConverter(b), nil
}

// OfCore are options of a build that has another version of the core.
func (o Options) OfCore(version int) Options {
	o.core = version
	return o
}

// RunAlone runs a flow that nobody follows.
func (c *Cluster) RunAlone(ctx context.Context, runID, source string) error {
	start := &Start{
		Core:   c.options.core,
		Record: store.RunRecord{ID: runID, File: "/flow.yaml", Source: []byte(source), Started: time.Now()},
		Queue:  c.queue(""), RunDir: "/", Nonce: "00", Settings: Settings{Dir: "/"},
	}
	if err := c.Store(ctx).launch(ctx, start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return err
	}
	return c.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
}
